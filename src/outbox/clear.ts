import { msSince } from '../base/clock.ts'
import { isProblem, Problem } from '../base/problem.ts'
import type { Lease } from '../domain/lease.ts'
import { pushFront, renewFront } from './push.ts'
import { countedNonce, type NonceQueue, nextNonce, noteLanded } from './queue.ts'
import { canLand, unfunded } from './sign.ts'

const BALANCE_AGE_MS = 5_000
/** Far more than nodes keep for one key: the rest is forgotten by them, and sent again when its turn comes. */
const WAITING_MAX = 256
const LOOK_MS = 2_000

/** Refuses before money moves when the key cannot pay for so much gas. */
export async function assertFunded(queue: NonceQueue, gas: bigint): Promise<void> {
  const { maxFeePerGas } = await queue.fees.current()
  const isEnough = async (ageMaxMs: number): Promise<boolean> => {
    const left = await queue.gas.left(ageMaxMs)
    return left === null || left >= gas * maxFeePerGas
  }
  if ((await isEnough(BALANCE_AGE_MS)) || (await isEnough(0))) return
  throw unfunded(queue, gas * maxFeePerGas)
}

/** Refuses before money moves when what was sent before does not land: what is sold now would wait behind it. */
export async function assertClear(queue: NonceQueue): Promise<void> {
  await assertSigns(queue)
  await open(queue)
  if (!isStuck(queue)) return
  await look(queue)
  if (isStuck(queue)) throw await stuck(queue)
}

/** What others have sent may have landed long ago. All who come meanwhile wait for the same answer. */
async function look(queue: NonceQueue): Promise<void> {
  const { row, clock } = queue
  if (row.look === null || msSince(clock, row.look.at) >= LOOK_MS)
    row.look = { at: clock.now(), done: countedNonce(queue).then((counted) => noteLanded(queue, counted)) }
  await row.look.done
}

async function assertSigns(queue: NonceQueue): Promise<void> {
  try {
    await queue.wallet.assertReady()
  } catch (error) {
    if (isProblem(error, 'signer_unavailable'))
      queue.alarm('signer', 'a hot key cannot sign; nothing is sold for it', {
        reason: error.message,
        fix: 'is the signer at SUTLER_SIGNER_URL up, quick, and does it have this key? It is asked again by itself',
      })
    throw error
  }
}

/** Where the queue begins and ends. The same reading serves the next signature. */
async function open(queue: NonceQueue): Promise<void> {
  const { row, clock } = queue
  if (row.next !== null) return
  const next = await nextNonce(queue)
  row.next ??= next
  row.movedAt ??= clock.now()
}

function isStuck(queue: NonceQueue): boolean {
  const { row, stuckAfterMs } = queue
  const waiting = (row.next ?? 0) - row.landedBelow
  return waiting > WAITING_MAX || (waiting > 0 && stillMs(queue) > 2 * stuckAfterMs)
}

/** For how long nothing has moved. */
const stillMs = ({ row, clock }: NonceQueue) => (row.movedAt === null ? 0 : clock.now() - row.movedAt)

async function stuck(queue: NonceQueue): Promise<Problem> {
  const { journal, chainId, signer, row } = queue
  const [front] = await journal.between(chainId, signer, row.landedBelow, row.landedBelow + 1)
  if (front && !(await canLand(queue, front)))
    return unfunded(queue, front.call.gas * (await queue.fees.current()).baseFee)
  queue.alarm('jam', 'transactions of a hot key do not land; nothing new is sold for it', {
    nonce: row.landedBelow,
    waiting: (row.next ?? 0) - row.landedBelow,
    seconds: Math.round(stillMs(queue) / 1000),
    fix: 'is the RPC address taking transactions? Put another one first; what waits is sent again by itself',
  })
  return new Problem('chain_unavailable', 'Earlier transactions of the shop have not landed yet; try again shortly.')
}

/** Pushes what stands in front, though no order may wait for it any more. */
export async function tend(queue: NonceQueue, lease: Lease): Promise<void> {
  await open(queue)
  const { row } = queue
  if (row.next === null || row.landedBelow >= row.next) return
  noteLanded(queue, await countedNonce(queue))
  if (row.landedBelow >= row.next) return
  await pushFront(queue)
  if (isStuck(queue)) await renewFront(queue, lease)
}
