import type { Address, Hash } from '../../base/address.ts'
import type { Rpc } from '../../chain/rpc.ts'

type Shown = {
  readonly hash?: Hash
  readonly type?: string
  readonly signature?: { readonly type?: string; readonly userAddress?: Address }
}

/** Ethereum's own types: only the sender's key signs these, and nodes show them as `r`, `s` and `v`. */
const OWN_KEY_ONLY: ReadonlySet<string> = new Set(['0x0', '0x1', '0x2', '0x4'])

/**
 * Was a transaction signed by a key that may spend for its sender, and not by the sender's own? Null: this node does not show it now. It may be
 * behind the one that showed the receipt, and no answer is not the owner's signature.
 */
export async function wasSignedByAccessKey(rpc: Rpc, hash: Hash): Promise<boolean | null> {
  const shown = await rpc.request<Shown | null>('eth_getTransactionByHash', [hash])
  if (shown?.hash?.toLowerCase() !== hash.toLowerCase()) return null
  const { signature, type = '' } = shown
  if (signature) return signature.type === 'keychain' || signature.userAddress !== undefined
  return OWN_KEY_ONLY.has(type) ? false : null
}
