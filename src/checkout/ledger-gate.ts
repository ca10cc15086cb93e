import { Problem } from '../base/problem.ts'
import type { Arrival, Till } from '../domain/till.ts'
import { claimantOf, listArrivals } from '../store/tills/arrivals.ts'
import { holdArrival } from './orphans.ts'
import { scanTill } from './reconcile.ts'
import type { ReconcileContext } from './reconcile-context.ts'

/** Until the chain has been read, nobody can say which payments were spent: no credential is taken before. */
export type LedgerGate = {
  /** Throws 503 while the books may be behind the chain. */
  assertOpen(): void
  /** Tries to open it: once now, then again and again until it works or the signal says stop. */
  open(stop: AbortSignal): Promise<void>
}

const SET_ASIDE = 'It arrived while the books were not kept; it may have been spent already.'

const RETRY_MS = 2_000
const PAGE = 1_000

/**
 * `isBehind` says whether a key of ours has sent more than the journal knows: proof that the store is an older copy of itself. Without
 * such proof, a store that nobody has kept for a while may be one too.
 */
export function createLedgerGate(context: ReconcileContext, isBehind: () => Promise<boolean>): LedgerGate {
  let isOpen = false

  async function learn(): Promise<void> {
    const hasProof = await isBehind()
    for (const till of context.tills) await learnTill(context, till, hasProof)
    isOpen = true
  }

  return {
    assertOpen() {
      if (!isOpen)
        throw new Problem(
          'chain_unavailable',
          'The shop has just started and is still reading which payments were spent; nothing was taken, try again shortly.',
        )
    },
    async open(stop) {
      await learn().catch((error) =>
        context.log.error('the chain could not be read; nothing is sold until it is', { error }),
      )
      if (!isOpen) void retry(stop)
    },
  }

  async function retry(stop: AbortSignal): Promise<void> {
    while (!isOpen && !stop.aborted) {
      await context.clock.sleep(RETRY_MS, stop)
      if (!stop.aborted)
        await learn().catch((error) => context.log.warn('the chain still cannot be read; nothing is sold', { error }))
    }
  }
}

/** Dust too: most of what is sold costs less than anybody would send back. */
async function* unclaimed({ db }: ReconcileContext, till: Till): AsyncGenerator<Arrival> {
  for (let after = ''; ; ) {
    const page = await listArrivals(db, till.id, { states: ['unclaimed', 'orphaned', 'dust'], after, limit: PAGE })
    yield* page
    if (page.length < PAGE) return
    after = page.at(-1)!.id
  }
}

/**
 * Reads what arrived since the books were last kept. If they may have lost something, all money without an order is set aside: perhaps it
 * had bought something that this store no longer remembers, and it must not buy again. A person decides what happens to it.
 */
async function learnTill(context: ReconcileContext, till: Till, hasProof: boolean): Promise<void> {
  const { db, log, policy } = context
  const { mark } = await scanTill(context, till)
  const mayHaveLost = mark.isNew ? till.sinceBlock !== null : hasProof || mark.silentSeconds > policy.silenceSecondsMax
  if (!mayHaveLost) return
  for await (const arrival of unclaimed(context, till)) {
    if (till.isOwn(arrival.sender) || arrival.reason === SET_ASIDE) continue
    const claimant = await claimantOf(db, await till.rail.identityOf(arrival))
    // An order that waits for just this payment goes on with it.
    if (claimant.kind === 'order' && !claimant.isPaid) continue
    await holdArrival(context, till, arrival, SET_ASIDE)
  }
  log.warn('the store was behind the chain: payments without an order were set aside', {
    till: till.id,
    hasProof,
  })
}
