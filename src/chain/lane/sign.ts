import { Problem } from '../../base/problem.ts'
import type { Call, Fees, Send, SignedVersion } from '../../domain/journal.ts'
import type { Lease } from '../../domain/lease.ts'
import { raised, withinMeans } from '../fees.ts'
import { VOID_GAS } from '../wallet.ts'
import { type Errand, type Lane, noteTaken } from './lane.ts'
import { firstFreeNonce } from './nonce.ts'

/** A balance this old is good enough to sign by: what was signed since is taken off it. */
const BALANCE_AGE_MS = 60_000
/** A nonce that was signed so often waits for something that no fee mends. */
const VERSIONS_MAX = 20

/** What a transaction with so much gas would offer now: never more than the wallet has, and nothing at all below the base fee. */
export async function payableFees(lane: Lane, gas: bigint): Promise<Fees> {
  const { fees, tank } = lane
  const quote = await fees.current()
  const left = await tank.left(BALANCE_AGE_MS)
  if (left === null || gas * quote.maxFeePerGas <= left) return withinMeans(quote, gas, null)!
  const payable = withinMeans(quote, gas, await tank.left(0))
  if (!payable) throw unfunded(lane, gas * quote.baseFee)
  return payable
}

export function unfunded(lane: Lane, wei: bigint): Problem {
  const { signer, chainId } = lane
  lane.alarm('unfunded', 'a hot key cannot pay for gas', {
    fix: `send at least ${wei} wei to ${signer} on chain ${chainId}, or wait until gas is cheaper`,
  })
  return new Problem(
    'relayer_unfunded',
    'The shop cannot pay for gas right now, so nothing was taken; try again later.',
  )
}

/** At most one transaction per order and step, however often it is called and by how many. */
export async function signAndRecord(lane: Lane, { lease, orderId, step }: Errand, call: Call): Promise<Send> {
  const { row, wallet, journal, chainId, signer, waypoint, tank } = lane
  for (;;) {
    const nonce = row.next ?? (await firstFreeNonce(lane))
    const fees = await payableFees(lane, call.gas)
    const version = await wallet.signCall(call, nonce, fees, chainId)
    const send: Send = { chainId, signer, nonce, orderId, step, call, versions: [version], landing: null }
    await waypoint('send.signed')
    const obstacle = await journal.record(lease, send)
    if (obstacle?.kind === 'step_taken') {
      // It was signed before, here or by a process that died.
      row.next = null
      const existing = await journal.find(chainId, signer, orderId, step)
      if (existing) return existing
      continue
    }
    noteTaken(lane, nonce)
    if (obstacle === null) {
      tank.reserve(call.gas * fees.maxFeePerGas)
      return send
    }
    // Another process took the nonce: the row goes on behind the last that is written down.
    const { lastNonce } = obstacle
    row.next = lastNonce !== null && lastNonce >= nonce ? lastNonce + 1 : null
  }
}

/**
 * The same nonce at today's fees, for what it was last meant for. Higher than before where a version can still land, because nodes replace
 * only what is outbid; as they are where none can, because the wallet cannot pay what was offered or no block takes so little.
 */
export async function signAgain(lane: Lane, lease: Lease, send: Send): Promise<Send> {
  const { isVoid } = send.versions.at(-1)!
  const fees = await nextFees(lane, send, isVoid)
  return fees === null ? send : addVersion(lane, lease, send, await signed(lane, send, fees, isVoid))
}

/** The same nonce, to ourselves, for more: whichever lands, the other one never will. */
export async function signVoid(lane: Lane, lease: Lease, send: Send): Promise<Send> {
  const fees = (await nextFees(lane, send, true)) ?? (await payableFees(lane, VOID_GAS))
  return addVersion(lane, lease, send, await signed(lane, send, fees, true))
}

/** Can one of its versions land now, as far as fees go? */
export async function canLand(lane: Lane, send: Send): Promise<boolean> {
  const { baseFee } = await lane.fees.current()
  return viableOf(send, baseFee, await lane.tank.left(0)).length > 0
}

function viableOf({ versions, call }: Send, baseFee: bigint, wei: bigint | null): readonly SignedVersion[] {
  const isPayable = ({ fees, isVoid }: SignedVersion) =>
    wei === null || (isVoid ? VOID_GAS : call.gas) * fees.maxFeePerGas <= wei
  return versions.filter((version) => version.fees.maxFeePerGas >= baseFee && isPayable(version))
}

/** Null: another signature would be of no use. */
async function nextFees(lane: Lane, send: Send, isVoid: boolean): Promise<Fees | null> {
  const { versions, nonce, orderId, step } = send
  const gas = isVoid ? VOID_GAS : send.call.gas
  const quote = await lane.fees.current()
  const wei = await lane.tank.left(0)
  const today = withinMeans(quote, gas, wei)
  if (!today) {
    unfunded(lane, gas * quote.baseFee)
    return null
  }
  if (versions.length >= VERSIONS_MAX) {
    lane.alarm(`stuck ${nonce}`, 'a transaction does not land at any price', { nonce, orderId, step })
    return null
  }
  const dearest = viableOf(send, quote.baseFee, wei).toSorted(byFee).at(-1)
  if (!dearest) return versions.some((one) => one.isVoid === isVoid && isSame(one.fees, today)) ? null : today
  const more = raised(dearest.fees, today)
  return wei !== null && gas * more.maxFeePerGas > wei ? null : more
}

/** Cheapest first. */
export function byFee(a: SignedVersion, b: SignedVersion): number {
  return a.fees.maxFeePerGas < b.fees.maxFeePerGas ? -1 : 1
}

function isSame(a: Fees, b: Fees): boolean {
  return a.maxFeePerGas === b.maxFeePerGas && a.maxPriorityFeePerGas === b.maxPriorityFeePerGas
}

function signed({ wallet, chainId }: Lane, { nonce, call }: Send, fees: Fees, isVoid: boolean): Promise<SignedVersion> {
  return isVoid ? wallet.signVoid(nonce, fees, chainId) : wallet.signCall(call, nonce, fees, chainId)
}

/** Somebody else's newer version is as good as ours. */
async function addVersion(lane: Lane, lease: Lease, send: Send, version: SignedVersion): Promise<Send> {
  const { journal, log, chainId, signer } = lane
  const { nonce, orderId, step } = send
  if (!(await journal.addVersion(lease, send, version)))
    return (await journal.find(chainId, signer, orderId, step)) ?? send
  const { hash, isVoid } = version
  log.warn('transaction replaced at the same nonce', { chainId, signer, nonce, step, hash, isVoid })
  return { ...send, versions: [...send.versions, version] }
}
