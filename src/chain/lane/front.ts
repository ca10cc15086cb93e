import { msSince } from '../../base/clock.ts'
import { GAP, type Send } from '../../domain/journal.ts'
import type { Lease } from '../../domain/lease.ts'
import { VOID_GAS } from '../wallet.ts'
import { broadcastAgain } from './broadcast.ts'
import { type Lane, noteLanded } from './lane.ts'
import { countedAgain, countedNonce } from './nonce.ts'
import { canLand, payableFees, signAgain } from './sign.ts'

/** So many of those in front are looked after at a time: when they have landed, the next ones are. */
const FRONT_MAX = 16
const TEND_MS = 1_000

/**
 * A transaction waits when an earlier nonce of the same key never reached the chain: the process that signed it died, the node forgot it, or
 * nobody ever signed it. The bytes are in the journal, so anybody may send them again. Once a second for the whole lane, however
 * many wait behind.
 */
export async function tendFront(lane: Lane, lease: Lease, before: number): Promise<void> {
  const { row, clock } = lane
  if (msSince(clock, row.tendedAt) < TEND_MS) return
  row.tendedAt = clock.now()
  for (const send of await frontOf(lane, lease, Math.max(before, row.next ?? 0))) await broadcastAgain(lane, send)
}

/** Nobody may care any more for what is in front of it; whoever waits behind pays what it takes by now, and no more. */
export async function renewFront(lane: Lane, lease: Lease, before: number): Promise<void> {
  const { maxFeePerGas } = await lane.fees.current()
  for (const send of await frontOf(lane, lease, before)) {
    const offered = send.versions.at(-1)!.fees.maxFeePerGas
    if (offered < maxFeePerGas || !(await canLand(lane, send)))
      await broadcastAgain(lane, await signAgain(lane, lease, send))
  }
}

/** What the chain waits for, up to this nonce, without gaps. */
async function frontOf(lane: Lane, lease: Lease, before: number): Promise<readonly Send[]> {
  const { journal, chainId, signer } = lane
  const counted = await countedNonce(lane)
  noteLanded(lane, counted)
  const end = Math.min(before, counted + FRONT_MAX)
  const written = await journal.between(chainId, signer, counted, end)
  if (written.length >= end - counted) return written
  const known = new Set(written.map(({ nonce }) => nonce))
  const gaps = Array.from({ length: end - counted }, (_, index) => counted + index).filter((nonce) => !known.has(nonce))
  // A node that lags counts too few: what it misses is no gap. Only two who agree make one.
  if ((await countedAgain(lane)) !== counted) return written
  const filled: Send[] = []
  for (const nonce of gaps) {
    const send = await fillGap(lane, lease, nonce)
    if (send) filled.push(send)
  }
  return [...written, ...filled].toSorted((a, b) => a.nonce - b.nonce)
}

/** A nonce that the chain waits for and that nobody signed: an empty transaction to ourselves takes it. */
async function fillGap(lane: Lane, lease: Lease, nonce: number): Promise<Send | null> {
  const { journal, wallet, chainId, signer } = lane
  lane.alarm('gap', 'a gap in the nonces of a key is filled with an empty transaction', { nonce })
  const version = await wallet.signVoid(nonce, await payableFees(lane, VOID_GAS), chainId)
  const call = { to: signer, data: '0x', gas: VOID_GAS } as const
  const place = { chainId, signer, nonce, orderId: GAP, step: `${GAP}.${nonce}` }
  const send: Send = { ...place, call, versions: [version], landing: null }
  return (await journal.record(lease, send)) === null ? send : null
}
