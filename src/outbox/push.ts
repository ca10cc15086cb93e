import { msSince } from '../base/clock.ts'
import type { Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import { broadcastAgain } from './broadcast.ts'
import { countedAgain, countedNonce } from './nonce.ts'
import { type NonceQueue, noteLanded } from './queue.ts'
import { canLand, signAgain } from './sign.ts'

/** So many of those in front are pushed at a time: when they have landed, the next ones are. */
const FRONT_MAX = 16
const PUSH_MS = 1_000

/**
 * A transaction waits when an earlier nonce of the same key is not on the chain: the process that signed it died, or the node forgot it. The
 * bytes are in the journal, so every process with the key sends them again. Once a second, however many wait behind.
 */
export async function pushFront(queue: NonceQueue): Promise<void> {
  const { row, clock } = queue
  if (msSince(clock, row.pushedAt) < PUSH_MS) return
  row.pushedAt = clock.now()
  for (const send of await frontOf(queue)) await broadcastAgain(queue, send)
}

/** The same after a long wait: what offers too little is signed again for today's fees. */
export async function renewFront(queue: NonceQueue, lease: Lease): Promise<void> {
  const { maxFeePerGas } = await queue.fees.current()
  for (const send of await frontOf(queue)) {
    const offered = send.versions.at(-1)!.fees
    if (offered.maxFeePerGas < maxFeePerGas || !(await canLand(queue, send)))
      await broadcastAgain(queue, await signAgain(queue, lease, send))
  }
}

/** Does the chain wait for a nonce that nothing was signed under? Then what stands behind it is signed again under that one. */
export async function hasGap(queue: NonceQueue, before: number): Promise<boolean> {
  const { journal, chainId, signer } = queue
  const counted = await countedNonce(queue)
  if (counted >= before || (await journal.between(chainId, signer, counted, counted + 1)).length > 0) return false
  // A node that lags counts too few: what it misses is no gap.
  return (await countedAgain(queue)) === counted
}

async function frontOf(queue: NonceQueue): Promise<readonly Send[]> {
  const { journal, chainId, signer } = queue
  const counted = await countedNonce(queue)
  noteLanded(queue, counted)
  return journal.between(chainId, signer, counted, counted + FRONT_MAX)
}
