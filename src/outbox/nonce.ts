import type { Address } from '../base/address.ts'
import type { Rpc } from '../chain/rpc.ts'
import { type NonceQueue, noteLanded } from './queue.ts'

const SECOND_LOOK_MS = 250

type Counted = Pick<NonceQueue, 'rpc' | 'signer' | 'clock'>

/** What waits in the node's pool does not count: ours is in the journal, and a stranger's may be forgotten and leave a gap. */
export async function countedNonce({ rpc, signer }: Pick<Counted, 'rpc' | 'signer'>): Promise<number> {
  return Number(await rpc.request<string>('eth_getTransactionCount', [signer, 'latest']))
}

/** The same question to another node, or to the same one after a moment. */
export async function countedAgain({ rpc, signer, clock }: Counted): Promise<number> {
  const other = await countedByAnother(rpc, signer)
  if (other !== null) return other
  await clock.sleep(SECOND_LOOK_MS)
  return countedNonce({ rpc, signer })
}

/** The least that a node counts. Null where no two of them answer. */
async function countedByAnother(rpc: Rpc, signer: Address): Promise<number | null> {
  if (rpc.standing().length === 1) return null
  const answers = await rpc.everyone<string>('eth_getTransactionCount', [signer, 'latest'])
  const counts = answers.flatMap((count) => (count == null ? [] : [Number(count)]))
  return counts.length < 2 ? null : Math.min(...counts)
}

/**
 * How many the chain has counted. More than are known are believed only when two looks agree. Where nothing is known yet two nodes must, if
 * there are two: whatever is written down too high hides all that is sent after it.
 */
export async function countedBeyond(counted: Counted, known: number | null): Promise<number> {
  const { rpc, signer } = counted
  const first = await countedNonce(counted)
  if (known === null) return Math.min(first, (await countedByAnother(rpc, signer)) ?? first)
  if (first <= known) return first
  return Math.max(known, Math.min(first, await countedAgain(counted)))
}

/**
 * The first nonce that the chain has not counted and that is not written down, so the next send fills what a lost one has left. A chain that
 * counts more than was written down is not believed at once: a nonce that is too high waits until others have filled what is before it.
 */
export async function nextNonce(queue: NonceQueue): Promise<number> {
  const { journal, chainId, signer } = queue
  const counted = await countedNonce(queue)
  const { last, nonces } = await journal.taken(chainId, signer, counted)
  const written = last === null ? 0 : last + 1
  const agreed = counted <= written ? counted : Math.max(written, Math.min(counted, await countedAgain(queue)))
  noteLanded(queue, agreed)
  if (agreed < counted)
    queue.alarm('nonce', 'a node counted more transactions of a key than there are; it was not believed', {
      counted,
      agreed,
    })
  if (agreed > written && last !== null) queue.alarm('foreign', FOREIGN, { written, counted: agreed })
  const known = new Set(nonces)
  let nonce = agreed
  while (known.has(nonce)) nonce++
  return nonce
}

export const FOREIGN =
  'a hot key has sent what its journal does not know: the key is used elsewhere, or the store is an older copy of itself'
