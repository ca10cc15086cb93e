import type { Hex } from '../../base/hex.ts'
import { type Lane, noteLanded } from './lane.ts'

const SECOND_LOOK_MS = 250

/** What waits in the node's pool does not count: ours is in the journal, and a stranger's may be forgotten and leave a gap. */
export async function countedNonce({ rpc, signer }: Lane, block: 'latest' | Hex = 'latest'): Promise<number> {
  return Number(await rpc.request<string>('eth_getTransactionCount', [signer, block]))
}

/** The same question to another node, or to the same one after a moment. */
export async function countedAgain(lane: Lane): Promise<number> {
  const other = await countedByAnother(lane)
  if (other !== null) return other
  await lane.clock.sleep(SECOND_LOOK_MS)
  return countedNonce(lane)
}

/** Null when there is no other node, or it does not answer. */
async function countedByAnother({ rpc, signer }: Lane): Promise<number | null> {
  const other = await rpc.second?.request<string>('eth_getTransactionCount', [signer, 'latest']).catch(() => null)
  return other == null ? null : Number(other)
}

/**
 * How many the chain has counted. More than are known are believed only when two looks agree. Where nothing is known yet two nodes must, if
 * there are two: whatever is written down too high hides all that is sent after it.
 */
export async function countedBeyond(lane: Lane, known: number | null): Promise<number> {
  const counted = await countedNonce(lane)
  if (known === null) return Math.min(counted, (await countedByAnother(lane)) ?? counted)
  if (counted <= known) return counted
  return Math.max(known, Math.min(counted, await countedAgain(lane)))
}

/**
 * The next nonce, from what is written down and what the chain has counted. A chain that counts more than was written down is not
 * believed at once: a nonce that is too high would leave a gap before it.
 */
export async function firstFreeNonce(lane: Lane): Promise<number> {
  const { journal, chainId, signer } = lane
  const [last, counted] = await Promise.all([journal.lastNonce(chainId, signer), countedNonce(lane)])
  const own = last === null ? 0 : last + 1
  if (counted <= own) {
    noteLanded(lane, counted)
    return own
  }
  const agreed = Math.max(own, Math.min(counted, await countedAgain(lane)))
  noteLanded(lane, agreed)
  if (agreed < counted)
    lane.alarm('nonce', 'a node counted more transactions of a key than there are; it was not believed', {
      counted,
      agreed,
    })
  if (agreed > own && last !== null) lane.alarm('foreign', FOREIGN, { written: own, counted: agreed })
  return agreed
}

export const FOREIGN =
  'a hot key has sent what its journal does not know: somebody else has the key, or the store is an older copy of itself'
