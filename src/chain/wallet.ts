import type { TransactionSerializableEIP1559 } from 'viem'
import { serializeTransaction } from 'viem/utils'
import type { Address, Hash } from '../base/address.ts'
import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import type { Secret } from '../base/secret.ts'
import type { Call, Fees, SignedVersion } from '../domain/journal.ts'
import { addressOfKey, recoverSigner, signDigest } from './secp256k1.ts'

export const VOID_GAS = 50_000n

/** A key of ours as a capability: it can sign, and nobody can read it. */
export type Wallet = {
  readonly address: Address
  signCall(call: Call, nonce: number, fees: Fees, chainId: number): SignedVersion
  /** A transfer of nothing to ourselves: it uses up the nonce. */
  signVoid(nonce: number, fees: Fees, chainId: number): SignedVersion
  /** EIP-191, for ownership proofs. */
  signText(text: string): Hex
}

export function createWallet(privateKey: Secret): Wallet {
  const key = fromHex(privateKey.reveal() as Hex)
  const address = addressOfKey(key)
  function sign(
    { to, data, gas }: Call,
    nonce: number,
    fees: Fees,
    chainId: number,
  ): { raw: Hex; hash: Hash; fees: Fees } {
    const transaction = { type: 'eip1559', chainId, nonce, to, data, gas, value: 0n, ...fees } as const
    const raw = signTransaction(transaction, key)
    return { raw, hash: toHex(keccak256(fromHex(raw))), fees }
  }
  return {
    address,
    signCall: (call, nonce, fees, chainId) => ({ ...sign(call, nonce, fees, chainId), isVoid: false }),
    signVoid: (nonce, fees, chainId) => ({
      ...sign({ to: address, data: '0x', gas: VOID_GAS }, nonce, fees, chainId),
      isVoid: true,
    }),
    signText(text) {
      const { r, s, yParity } = signDigest(textDigest(text), key)
      return `${r}${s.slice(2)}${yParity === 0 ? '1b' : '1c'}`
    },
  }
}

export function signTransaction(transaction: TransactionSerializableEIP1559, key: Uint8Array): Hex {
  return serializeTransaction(transaction, signDigest(keccak256(fromHex(serializeTransaction(transaction))), key))
}

/** Who signed this text (EIP-191), or null. */
export function signerOfText(text: string, signature: Hex): Address | null {
  return recoverSigner(textDigest(text), signature)
}

function textDigest(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'utf8')
  return keccak256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${bytes.length}`), bytes]))
}
