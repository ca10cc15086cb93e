import type { Address, Hash } from '../../base/address.ts'
import type { Rpc } from '../../chain/rpc.ts'

/** Was a transaction that the chain shows signed by a key that may spend for its sender, and not by the sender's own? */
export async function wasSignedByAccessKey(rpc: Rpc, hash: Hash): Promise<boolean> {
  const shown = await rpc.request<{ signature?: { type?: string; userAddress?: Address } } | null>(
    'eth_getTransactionByHash',
    [hash],
  )
  return shown?.signature?.type === 'keychain' || shown?.signature?.userAddress !== undefined
}
