import type { TransactionSerializableEIP1559 } from 'viem'
import { serializeTransaction } from 'viem/utils'
import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { Secret } from '../base/secret.ts'
import { recoverSigner, signDigest } from '../chain/secp256k1.ts'
import type { ChainKey } from '../config/signing-key.ts'
import type { Call, Fees, KeyedPlace, SignedVersion } from '../domain/journal.ts'
import { remoteSigner } from './remote-signer.ts'
import { localSigner, type Signer } from './signer.ts'

/** A key of ours as a capability: it can sign, and nobody can read it. */
export type Wallet = {
  readonly address: Address
  signCall(call: Call, nonce: number, fees: Fees, chainId: number): Promise<SignedVersion>
  /** As a transaction of Tempo, in a row of nonces of its own. The fee is paid in the token that is called. */
  signKeyed(call: Call, place: KeyedPlace, fees: Fees, chainId: number): Promise<SignedVersion>
  /** What is signed is the hash of the bytes. */
  readonly sign: Signer['sign']
  /** Refuses before money moves when whoever holds the key could not sign now. */
  assertReady(): Promise<void>
}

export function openWallet(key: ChainKey, clock: Clock): Wallet {
  return walletOf(key instanceof Secret ? localSigner(key) : remoteSigner(key, clock))
}

/** Of a key that lies here. It signs texts as well (EIP-191), for ownership proofs. */
export function createWallet(privateKey: Secret): Wallet & { signText(text: string): Hex } {
  const key = fromHex(privateKey.reveal() as Hex)
  return {
    ...walletOf(localSigner(privateKey)),
    signText(text) {
      const { r, s, yParity } = signDigest(textDigest(text), key)
      return `${r}${s.slice(2)}${yParity === 0 ? '1b' : '1c'}`
    },
  }
}

export function addressOf(key: ChainKey): Address {
  return key instanceof Secret ? localSigner(key).address : key.address
}

function walletOf({ address, sign, assertReady }: Signer): Wallet {
  async function signed({ to, data, gas }: Call, nonce: number, fees: Fees, chainId: number): Promise<SignedVersion> {
    const transaction = { type: 'eip1559', chainId, nonce, to, data, gas, value: 0n, ...fees } as const
    const raw = serializeTransaction(transaction, await sign(fromHex(serializeTransaction(transaction))))
    return { raw, hash: toHex(keccak256(fromHex(raw))), fees }
  }
  return {
    address,
    assertReady,
    sign,
    async signKeyed({ to, data, gas }, { nonceKey, nonce }, fees, chainId) {
      const { TxEnvelopeTempo } = await import('ox/tempo')
      const place = { nonceKey: BigInt(nonceKey), nonce: BigInt(nonce) }
      const unsigned = TxEnvelopeTempo.from({ chainId, ...place, gas, ...fees, feeToken: to, calls: [{ to, data }] })
      const { r, s, yParity } = await sign(fromHex(TxEnvelopeTempo.serialize(unsigned)))
      const signature = { r: BigInt(r), s: BigInt(s), yParity }
      const raw = TxEnvelopeTempo.serialize(unsigned, { signature: { type: 'secp256k1', signature } })
      return { raw, hash: toHex(keccak256(fromHex(raw))), fees }
    },
    signCall: signed,
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
