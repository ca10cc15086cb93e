import { Problem } from '../base/problem.ts'
import type { Call, Fees, KeyedPlace, Send, SignedVersion } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import { raised, withinMeans } from './fees.ts'
import { type NonceQueue, nextNonce, noteTaken, type SendJob } from './queue.ts'
import { landedWhileClosing } from './state.ts'

/** A balance this old is good enough to sign by: what was signed since is taken off it. */
const BALANCE_AGE_MS = 60_000
/** A nonce that was signed so often waits for something that no fee mends. */
const VERSIONS_MAX = 20

/** What a transaction with so much gas would offer now: never more than the wallet has, and nothing at all below the base fee. */
export async function payableFees(queue: NonceQueue, gas: bigint): Promise<Fees> {
  const quote = await queue.fees.current()
  const left = await queue.gas.left(BALANCE_AGE_MS)
  if (left === null || gas * quote.maxFeePerGas <= left) return withinMeans(quote, gas, null)!
  const payable = withinMeans(quote, gas, await queue.gas.left(0))
  if (!payable) throw unfunded(queue, gas * quote.baseFee)
  return payable
}

export function unfunded(queue: NonceQueue, wei: bigint): Problem {
  const { signer, chainId } = queue
  queue.alarm('unfunded', 'a hot key cannot pay for gas', {
    fix: `send at least ${wei} wei to ${signer} on chain ${chainId}, or wait until gas is cheaper`,
  })
  return new Problem(
    'relayer_unfunded',
    'The shop cannot pay for gas right now, so nothing was taken; try again later.',
  )
}

/** Signs a call under the next nonce and writes it down. Null: the step has more transactions than the caller has `seen`. */
export async function signAndRecord(queue: NonceQueue, job: SendJob, call: Call, seen: number): Promise<Send | null> {
  const { row, wallet, journal, chainId, signer, waypoint, gas } = queue
  const { lease, orderId, step } = job
  for (;;) {
    const nonce = row.next ?? (await nextNonce(queue))
    const fees = await payableFees(queue, call.gas)
    const version = await wallet.signCall(call, nonce, fees, chainId)
    const send: Send = { chainId, signer, nonce, orderId, step, call, versions: [version], landing: null }
    await waypoint('send.signed')
    const obstacle = await journal.record(lease, send, seen)
    if (obstacle?.kind === 'step_taken') {
      row.next = null
      return null
    }
    if (obstacle) {
      // Another process took the nonce: the queue goes on behind the last that is written down.
      const { lastNonce } = obstacle
      row.next = lastNonce !== null && lastNonce >= nonce ? lastNonce + 1 : null
      continue
    }
    noteTaken(queue, nonce)
    gas.reserve(call.gas * fees.maxFeePerGas)
    return send
  }
}

/** The same in a row of nonces that belongs to the step alone. What was written down there before stays. */
export async function signKeyed(queue: NonceQueue, job: SendJob, call: Call, place: KeyedPlace): Promise<Send> {
  const { wallet, journal, chainId, signer, waypoint } = queue
  const { lease, orderId, step } = job
  const version = await wallet.signKeyed(call, place, await payableFees(queue, call.gas), chainId)
  const send: Send = { chainId, signer, ...place, orderId, step, call, versions: [version], landing: null }
  await waypoint('send.signed')
  const isWritten = (await journal.record(lease, send, place.nonce)) === null
  return isWritten ? send : ((await journal.at(send)) ?? send)
}

/**
 * The same nonce at today's fees. Higher than before where a version can still land, because nodes replace only what is outbid; as they are
 * where none can, because the wallet cannot pay what was offered or no block takes so little.
 */
export async function signAgain(queue: NonceQueue, lease: Lease, send: Send): Promise<Send> {
  const { wallet, journal, log, chainId } = queue
  const { nonce, nonceKey, step, call, signer } = send
  const isOurs = signer === queue.signer && !landedWhileClosing(send)
  const fees = isOurs ? await nextFees(queue, send) : null
  if (fees === null) return send
  const version = nonceKey
    ? await wallet.signKeyed(call, { nonceKey, nonce }, fees, chainId)
    : await wallet.signCall(call, nonce, fees, chainId)
  // Another process may have added one; it is as good as ours.
  if (!(await journal.addVersion(lease, send, version))) return (await journal.at(send)) ?? send
  log.warn('transaction replaced at the same nonce', { chainId, signer, nonce, step, hash: version.hash })
  return { ...send, versions: [...send.versions, version] }
}

/** Can one of its versions land now, as far as fees go? */
export async function canLand(queue: NonceQueue, send: Send): Promise<boolean> {
  const { baseFee } = await queue.fees.current()
  return viableOf(send, baseFee, await queue.gas.left(0)).length > 0
}

function viableOf({ versions, call }: Send, baseFee: bigint, wei: bigint | null): readonly SignedVersion[] {
  const isPayable = ({ fees }: SignedVersion) => wei === null || call.gas * fees.maxFeePerGas <= wei
  return versions.filter((version) => version.fees.maxFeePerGas >= baseFee && isPayable(version))
}

/** Null: another signature would be of no use. */
async function nextFees(queue: NonceQueue, send: Send): Promise<Fees | null> {
  const { versions, nonce, orderId, step, call } = send
  const quote = await queue.fees.current()
  const wei = await queue.gas.left(0)
  const today = withinMeans(quote, call.gas, wei)
  if (!today) {
    unfunded(queue, call.gas * quote.baseFee)
    return null
  }
  if (versions.length >= VERSIONS_MAX) {
    queue.alarm(`stuck ${nonce}`, 'a transaction does not land at any price', { nonce, orderId, step })
    return null
  }
  const dearest = viableOf(send, quote.baseFee, wei).toSorted(byFee).at(-1)
  if (!dearest) return versions.some((one) => isSame(one.fees, today)) ? null : today
  const more = raised(dearest.fees, today)
  return wei !== null && call.gas * more.maxFeePerGas > wei ? null : more
}

/** Cheapest first. */
export function byFee(a: SignedVersion, b: SignedVersion): number {
  return a.fees.maxFeePerGas < b.fees.maxFeePerGas ? -1 : 1
}

function isSame(a: Fees, b: Fees): boolean {
  return a.maxFeePerGas === b.maxFeePerGas && a.maxPriorityFeePerGas === b.maxPriorityFeePerGas
}
