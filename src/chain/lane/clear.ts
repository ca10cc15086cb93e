import { msSince } from '../../base/clock.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import type { Lease } from '../../domain/lease.ts'
import { renewFront, tendFront } from './front.ts'
import { type Lane, noteLanded } from './lane.ts'
import { countedNonce, firstFreeNonce } from './nonce.ts'
import { canLand, unfunded } from './sign.ts'

const BALANCE_AGE_MS = 5_000
/** Far more than nodes keep for one key: the rest is forgotten by them, and sent again when its turn comes. */
const WAITING_MAX = 256
const LOOK_MS = 2_000

/** Refuses before money moves when the key cannot pay for so much gas. */
export async function assertFunded(lane: Lane, gas: bigint): Promise<void> {
  const { maxFeePerGas } = await lane.fees.current()
  const isEnough = async (ageMaxMs: number): Promise<boolean> => {
    const left = await lane.tank.left(ageMaxMs)
    return left === null || left >= gas * maxFeePerGas
  }
  if ((await isEnough(BALANCE_AGE_MS)) || (await isEnough(0))) return
  throw unfunded(lane, gas * maxFeePerGas)
}

/** Refuses before money moves when what was sent before does not land: what is sold now would wait behind it. */
export async function assertClear(lane: Lane): Promise<void> {
  await assertSigns(lane)
  await open(lane)
  if (!isJammed(lane)) return
  await look(lane)
  if (isJammed(lane)) throw await jam(lane)
}

/** What others have sent may have landed long ago. Everybody who comes meanwhile waits for the same answer. */
async function look(lane: Lane): Promise<void> {
  const { row, clock } = lane
  if (row.look === null || msSince(clock, row.look.at) >= LOOK_MS)
    row.look = { at: clock.now(), done: countedNonce(lane).then((counted) => noteLanded(lane, counted)) }
  await row.look.done
}

async function assertSigns(lane: Lane): Promise<void> {
  try {
    await lane.wallet.assertReady()
  } catch (error) {
    if (isProblem(error, 'signer_unavailable'))
      lane.alarm('signer', 'a hot key cannot sign; nothing is sold for it', {
        reason: error.message,
        fix: 'is the signer at SUTLER_SIGNER_URL up, quick, and does it have this key? It is asked again by itself',
      })
    throw error
  }
}

/** Where the row begins and ends. The same reading serves the next signature. */
async function open(lane: Lane): Promise<void> {
  if (lane.row.next !== null) return
  const next = await firstFreeNonce(lane)
  lane.row.next ??= next
  lane.row.movedAt ??= lane.clock.now()
}

function isJammed(lane: Lane): boolean {
  const { row, stuckAfterMs } = lane
  const waiting = (row.next ?? 0) - row.landedBelow
  return waiting > WAITING_MAX || (waiting > 0 && stillMs(lane) > 2 * stuckAfterMs)
}

/** For how long nothing has moved. */
const stillMs = ({ row, clock }: Lane) => (row.movedAt === null ? 0 : clock.now() - row.movedAt)

async function jam(lane: Lane): Promise<Problem> {
  const { journal, chainId, signer, row } = lane
  const [front] = await journal.between(chainId, signer, row.landedBelow, row.landedBelow + 1)
  if (front && !(await canLand(lane, front)))
    return unfunded(lane, front.call.gas * (await lane.fees.current()).baseFee)
  lane.alarm('jam', 'transactions of a hot key do not land; nothing new is sold for it', {
    nonce: row.landedBelow,
    waiting: (row.next ?? 0) - row.landedBelow,
    seconds: Math.round(stillMs(lane) / 1000),
    fix: 'is the RPC address taking transactions? Put another one first; what waits is sent again by itself',
  })
  return new Problem('chain_unavailable', 'Earlier transactions of the shop have not landed yet; try again shortly.')
}

/** Looks after whatever stands in front, though no order may wait for it any more. */
export async function tend(lane: Lane, lease: Lease): Promise<void> {
  await open(lane)
  const { row } = lane
  if (row.next === null || row.landedBelow >= row.next) return
  noteLanded(lane, await countedNonce(lane))
  if (row.landedBelow >= row.next) return
  await tendFront(lane, lease, row.next)
  if (isJammed(lane)) await renewFront(lane, lease, row.next)
}
