import type { Address, Hash } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { Json } from '../../base/json.ts'
import type { AccessList, EvmCall } from '../evm/machine.ts'

/** A transaction as it arrived: read, and nothing proved yet. Every type is reduced to what execution needs. */
export type Envelope = {
  readonly hash: Hash
  readonly raw: Hex
  readonly type: Hex
  readonly chainId: number | undefined
  readonly nonce: bigint
  /** Tempo: 0 is the account's own nonce, 2^256-1 an expiring one, all else a nonce of its own. */
  readonly nonceKey: bigint
  readonly calls: readonly EvmCall[]
  readonly gas: bigint
  readonly intrinsicGas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly accessList: AccessList
  readonly validAfter?: number
  readonly validBefore?: number
  readonly feeToken?: Address
  /** What `eth_getTransactionByHash` shows of this type beyond the common fields. */
  readonly fields: Readonly<Record<string, Json>>
  /** Recovers who signed. Costs more than all the rest. Throws RpcError when the signature proves nobody. */
  signers(): Signers
}

export type Signers = { readonly from: Address; readonly feePayer: Address }
export type SentTransaction = Omit<Envelope, 'signers'> & Signers
