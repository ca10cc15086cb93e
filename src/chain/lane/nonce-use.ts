import { type Address, type Hash, sameAddress } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { blockTag } from '../block-tag.ts'
import { type Rpc, RpcError } from '../rpc.ts'

/** The transaction that a nonce went to. */
type NonceUse = { readonly hash: Hash; readonly blockNumber: bigint }

type FullBlock = {
  readonly transactions: readonly {
    readonly hash: Hash
    readonly from: Address
    readonly nonce: Hex
    /** Tempo has many rows of nonces per key; ours is the ordinary one. */
    readonly nonceKey?: Hex | null
  }[]
}

/**
 * Finds the transaction that used a nonce: the first block after which the key has counted further, and in it the transaction with that
 * very nonce. Null when this node cannot show it, because it has thrown old states away or is not of one mind with itself; that is no proof of anything.
 */
export async function findNonceUse(rpc: Rpc, signer: Address, nonce: number): Promise<NonceUse | null> {
  try {
    const blockNumber = await blockOfUse(rpc, signer, nonce)
    if (blockNumber === null) return null
    const block = await rpc.request<FullBlock | null>('eth_getBlockByNumber', [blockTag(blockNumber), true])
    const found = block?.transactions.find(
      (one) => Number(one.nonce) === nonce && sameAddress(one.from, signer) && Number(one.nonceKey ?? 0) === 0,
    )
    return found ? { hash: found.hash.toLowerCase() as Hash, blockNumber } : null
  } catch (error) {
    if (error instanceof RpcError) return null
    throw error
  }
}

/** Backwards in growing steps, then between the last two: full nodes remember only the states of the last blocks. */
async function blockOfUse(rpc: Rpc, signer: Address, nonce: number): Promise<bigint | null> {
  const isUsedAt = async (block: bigint): Promise<boolean> =>
    Number(await rpc.request<Hex>('eth_getTransactionCount', [signer, blockTag(block)])) > nonce
  let used = BigInt(await rpc.request<Hex>('eth_blockNumber'))
  if (!(await isUsedAt(used))) return null
  let unused = used - 1n
  for (let step = 1n; unused >= 0n && (await isUsedAt(unused)); step *= 2n) {
    used = unused
    unused = used - 2n * step > 0n ? used - 2n * step : -1n
  }
  while (used - unused > 1n) {
    const middle = (used + unused) / 2n
    if (await isUsedAt(middle)) used = middle
    else unused = middle
  }
  return used
}
