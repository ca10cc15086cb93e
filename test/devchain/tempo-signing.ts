import { Secp256k1 } from 'ox'
import { SignatureEnvelope, TxEnvelopeTempo } from 'ox/tempo'
import { type Address, encodeFunctionData, type Hex, keccak256, toHex } from 'viem'
import { privateKeyToAddress } from 'viem/accounts'
import { testTip20 } from '../../src/artifacts/TestTip20.ts'
import { PATH_USD_ADDRESS } from '../../src/devchain/rules.ts'

export type TempoFields = Partial<Omit<TxEnvelopeTempo.TxEnvelopeTempo, 'calls'>> & {
  readonly calls: readonly TxEnvelopeTempo.Call[]
}

/** A Tempo transaction with everything that the fields leave open. */
export function tempoEnvelope(fields: TempoFields): TxEnvelopeTempo.TxEnvelopeTempo {
  return TxEnvelopeTempo.from({
    chainId: 42431,
    gas: 300_000n,
    maxFeePerGas: 20_000_000_000n,
    feeToken: PATH_USD_ADDRESS,
    nonceKey: 0n,
    nonce: 0n,
    ...fields,
  })
}

export function signTempo(key: Hex, fields: TempoFields): Hex {
  const unsigned = tempoEnvelope(fields)
  const signature = Secp256k1.sign({ payload: TxEnvelopeTempo.getSignPayload(unsigned), privateKey: key })
  return TxEnvelopeTempo.serialize(unsigned, { signature: SignatureEnvelope.from(signature) })
}

/** The sender leaves the fee to somebody else, who has not signed yet. */
export function signUnsponsored(key: Hex, fields: TempoFields): TxEnvelopeTempo.TxEnvelopeTempo {
  const { feeToken: _, ...rest } = tempoEnvelope(fields)
  const unsigned = { ...rest, feePayerSignature: null } as TxEnvelopeTempo.TxEnvelopeTempo
  const signature = Secp256k1.sign({ payload: TxEnvelopeTempo.getSignPayload(unsigned), privateKey: key })
  return { ...unsigned, signature: SignatureEnvelope.from(signature) }
}

/** Both have signed. */
export function signSponsored(key: Hex, sponsorKey: Hex, fields: TempoFields): Hex {
  const offered = { ...signUnsponsored(key, fields), feeToken: PATH_USD_ADDRESS }
  const payload = TxEnvelopeTempo.getFeePayerSignPayload(offered, { sender: privateKeyToAddress(key) })
  return TxEnvelopeTempo.serialize(offered, { feePayerSignature: Secp256k1.sign({ payload, privateKey: sponsorKey }) })
}

export const memo = (text: string): Hex => keccak256(toHex(text))

export function memoTransfer(to: Address, amount: bigint, note = 'order 1'): { to: Address; data: Hex } {
  const args = [to, amount, memo(note)] as const
  return {
    to: PATH_USD_ADDRESS,
    data: encodeFunctionData({ abi: testTip20.abi, functionName: 'transferWithMemo', args }),
  }
}
