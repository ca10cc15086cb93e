import { countdown } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import { Problem } from '../base/problem.ts'
import type { KeyCount } from '../domain/journal.ts'
import type { Till } from '../domain/till.ts'
import type { Database, Transaction } from '../store/db.ts'
import { callRoll, dismissSilent, leave, lookAtStore, type StoreLook, testify } from '../store/lineage.ts'
import { noteCounts } from '../store/sends/keys.ts'
import {
  addDoubtedTill,
  doubtAfterSilence,
  doubtTills,
  isSetAsideSince,
  isTillKnown,
  isTillTrusted,
  type Quarantines,
  quarantines,
  tillsLastRead,
  trustUndoubted,
} from '../store/tills/till-trust.ts'
import { quarantine } from './quarantine.ts'
import { scanTill } from './reconcile.ts'
import type { ReconcileContext } from './reconcile-context.ts'
import { moveOf, type StoreMemory } from './store-memory.ts'

/** Closed until the chain has been read: before that it is not known which payments were spent, and no credential is taken. */
export type LedgerGate = {
  /** Throws 503 while the store may be behind the chain. */
  assertOpen(): void
  /** Tries to open it: once now, then repeatedly until it works or `stop` is aborted. */
  open(stop: AbortSignal): Promise<void>
  /** Closes it again, until the chain has been read, whenever the store turns out to be another one, or other processes have found that it is. */
  watch(stop: AbortSignal): void
  /** Signs off, where the store has all that this process wrote, and doubts the tills where it has not: it writes nothing more. */
  leave(): Promise<void>
}

type GateParts = {
  /** What the keys of the shop have sent. A key that sent more than the journal knows is proof that the store is an older copy of itself. */
  countSends(): Promise<readonly KeyCount[]>
  readonly memory: StoreMemory
  /** So long other replicas are given to compare their memory with a store that moved; then they count as dead. */
  readonly patienceMs: number
}

const RETRY_MS = 2_000
/** No store's clock and no chain's differ by more. */
const CLOCKS_APART_MS = 600_000
const WATCH_MS = 1_000
const ROLL_MS = 250
/** A heartbeat with every so many looks, so that other replicas do not wait for one that is gone. */
const LOOKS_PER_WORD = 5

/**
 * Closed at the start, and whenever the store turns out to be another one: a standby that was promoted, a server restored to an earlier moment.
 * Then every replica that sells says whether what it wrote is there. If one misses something, or does not answer, orphaned payments may have been
 * spent before. Without such proof, a store whose tills were not read for a while may be an older copy of itself as well.
 */
export function createLedgerGate(context: ReconcileContext, parts: GateParts): LedgerGate {
  const { db, clock, log, random } = context
  const { memory } = parts
  const id = newId('wit', random)
  const tills = context.tills.map((till) => till.id)
  const beginning = createBeginning(db, memory)
  let state: 'starting' | 'open' | 'moved' = 'starting'

  async function learn(): Promise<void> {
    const { lineage, missing, noted } = await beginning.look()
    await testify(db, { id, lineage, hasLost: missing.length > 0 })
    const isWhole = await isVouchedFor(context, lineage, parts.patienceMs)
    const hasProof = await learnTills(context, parts, { lineage, isWhole, noted })
    const missed = await writeTo(db, lineage, async (tx) => {
      await testify(tx, { id, lineage, hasLost: false })
      await dismissSilent(tx, lineage)
      // What was set aside is known by its name again. It stays in memory: the next store may be one that never learned of it.
      return (await lookAtStore(tx, missing)).missing
    })
    memory.accept(lineage, missed)
    beginning.end()
    if (state === 'moved') log.warn('the store moved; the chain was read and sales go on', { isWhole, hasProof })
    state = 'open'
  }

  /** Closes the gate if this is not the store that it was, or if another process misses something in it: that one may be gone, or never be done. */
  async function look(): Promise<void> {
    const move = await moveOf(db, memory, tills)
    if (move === null) return
    state = 'moved'
    memory.doubt()
    log.error('the store moved, or is an older copy of itself; nothing is sold until the chain was read', move)
  }

  async function retry(stop: AbortSignal): Promise<void> {
    while (state === 'starting' && !stop.aborted) {
      await clock.sleep(RETRY_MS, stop)
      if (!stop.aborted)
        await learn().catch((error) => log.warn('the chain still cannot be read; nothing is sold', { error }))
    }
  }

  async function keepWatch(stop: AbortSignal): Promise<void> {
    for (let looks = 1; ; looks++) {
      await clock.sleep(WATCH_MS, stop)
      if (stop.aborted) return
      // A store that does not answer sells nothing either.
      if (state === 'open') await look().catch((error) => log.debug('store check failed', { error }))
      if (state === 'moved')
        await learn().catch((error) => log.warn('the store moved, and nothing is sold yet', { error }))
      else if (looks % LOOKS_PER_WORD === 0) await stillHere()
    }
  }

  async function stillHere(): Promise<void> {
    const lineage = memory.lineage()
    if (lineage === null) return
    await testify(db, { id, lineage, hasLost: false }).catch((error) =>
      log.debug('replica heartbeat failed', { error }),
    )
  }

  return {
    assertOpen() {
      if (state !== 'open') throw closedProblem(state)
    },
    async open(stop) {
      await learn().catch((error) => log.error('the chain could not be read; nothing is sold until it is', { error }))
      if (state === 'starting') void retry(stop)
    },
    watch(stop) {
      // The embedded store belongs to this process alone: nothing else can replace it.
      if (db.engine === 'postgres') void keepWatch(stop)
    },
    async leave() {
      const { missing } = await signOff(db, id, memory.recent())
      // Its old word alone would not do: it may be missing there as well, or speak of the same history.
      if (missing.length > 0) await beginning.look()
    },
  }
}

/** What a process found as it began with a history that it has not learned yet: when the tills had been set aside, and what it has doubted them for. */
type Begun = { readonly lineage: string; readonly noted: Quarantines; readonly missing: readonly string[] }

/** How a process begins to learn, and begins anew where it could not. */
function createBeginning(db: Database, memory: Pick<StoreMemory, 'recent'>) {
  let begun: Begun | null = null

  /** With the first try, and once for each purchase that is found missing later: what others have set aside by then does not know of that one either. */
  async function doubt(next: Begun): Promise<Quarantines> {
    // At once: this process may end before it has read anything, and its word is forgotten a minute later.
    if (next.missing.length > 0) await doubtTills(db, next.noted)
    begun = next
    return next.noted
  }

  return {
    /**
     * What another replica sets aside from here on need not be set aside again, and not because a try of this one has failed either: what that one asked
     * for since belongs to its buyers.
     */
    async look(): Promise<StoreLook & { readonly noted: Quarantines }> {
      // Before the look: what is set aside between the two is missing no more.
      const now = await quarantines(db)
      const look = await lookAtStore(db, memory.recent())
      const { lineage, missing } = look
      if (begun?.lineage !== lineage) return { ...look, noted: await doubt({ lineage, noted: now, missing }) }
      const known = new Set(begun.missing)
      if (missing.some((identity) => !known.has(identity))) {
        const all = [...begun.missing, ...missing]
        return { ...look, noted: await doubt({ lineage, noted: now, missing: all }) }
      }
      // Where the server does not tell its history, the store may have moved once more since that try, to one that has neither the doubt nor what was set
      // aside. Where it has not, what others have set aside since stays as it is.
      if (lineage === '' && missing.length > 0) await doubtTills(db, begun.noted)
      if (lineage === '' && missing.length === 0) begun = { ...begun, noted: now }
      return { ...look, noted: begun.noted }
    },
    end() {
      begun = null
    },
  }
}

/** Writes what was learned of a history, if the store is still that one. Of any other one nothing was learned, and its proof must not be used up. */
function writeTo<Result>(db: Database, lineage: string, write: (tx: Transaction) => Promise<Result>): Promise<Result> {
  return db.transaction(async (tx) => {
    if ((await lookAtStore(tx, [])).lineage !== lineage)
      throw new Problem('store_unavailable', 'The store has moved once more; what was read of it counts no more.')
    return write(tx)
  })
}

/** Whoever stays goes on waiting for the word of a process that misses something in the store to which it has moved. */
function signOff(db: Database, id: string, recent: readonly string[]): Promise<StoreLook> {
  return db.transaction(async (tx) => {
    const look = await lookAtStore(tx, recent)
    if (look.missing.length === 0) await leave(tx, id)
    return look
  })
}

function closedProblem(state: 'starting' | 'moved'): Problem {
  if (state === 'starting')
    return new Problem(
      'chain_unavailable',
      'The shop has just started and is still reading which payments were spent; nothing was taken, try again shortly.',
    )
  return new Problem(
    'store_unavailable',
    'The store has moved, and the shop is still reading which payments were spent; nothing was taken, try again shortly.',
  )
}

/** Does every replica that sold here find what it wrote? One that does not answer in time counts as dead, and then the answer is no. */
async function isVouchedFor(
  { db, clock, log }: ReconcileContext,
  lineage: string,
  patienceMs: number,
): Promise<boolean> {
  for (const left = countdown(clock, patienceMs); ; await clock.sleep(ROLL_MS)) {
    const { silent, lost } = await callRoll(db, lineage)
    if (silent === 0) return lost === 0
    if (left() > 0) continue
    log.warn('the store moved, and replicas that sold do not answer: whether it has all they wrote is unknown', {
      silent,
    })
    return false
  }
}

/** Reads every till. True: there was proof that the store is behind the chain. */
async function learnTills(
  context: ReconcileContext,
  { countSends }: Pick<GateParts, 'countSends'>,
  { lineage, isWhole, noted }: { readonly lineage: string; readonly isWhole: boolean; readonly noted: Quarantines },
): Promise<boolean> {
  const counts = await countSends()
  // Another replica may have set everything aside while the keys were counted: then nobody is missed any more.
  const hasProof = counts.some(({ isBeyond }) => isBeyond) || !(isWhole || (await isVouchedFor(context, lineage, 0)))
  // Other replicas may have other tills, and find no proof any more: a replica that has a till compares it with the chain.
  if (hasProof) await doubtTills(context.db, noted)
  await addYoungerTills(context, hasProof)
  for (const till of context.tills) await learnTill(context, till, { hasProof, since: noted.get(till.id) ?? 0 })
  // Only now: the counts are proof until all orphaned payments are in quarantine, not for ever. An operator who replaces a key empties the old one by hand.
  await writeTo(context.db, lineage, (tx) => noteCounts(tx, counts))
  // Not before that does the proof stand for nobody else. A replica that found it meanwhile may doubt a till that was set aside already, and is not to set it
  // aside after sales have begun.
  for (const till of context.tills)
    if (!(await isTillTrusted(context.db, till.id)))
      await learnTill(context, till, { hasProof, since: noted.get(till.id) ?? 0 })
  return hasProof
}

/** A copy that is older than a till does not know it. Payments that arrived there since the other tills were last read may have been spent too. */
async function addYoungerTills({ db, tills, policy }: ReconcileContext, hasProof: boolean): Promise<void> {
  const { silenceSecondsMax } = policy
  const ids = tills.map(({ id }) => id)
  const last = await tillsLastRead(db, ids, { silenceSecondsMax, hasProof })
  if (!last?.isDoubted) return
  const { until } = last
  for (const till of tills)
    if (till.sinceBlock === null && !(await isTillKnown(db, till.id)))
      await addDoubtedTill(db, till.id, { after: await till.blockBefore(until - CLOCKS_APART_MS), until })
}

/**
 * Reads what arrived since the till was last read. If the store may have forgotten purchases, all orphaned payments go into quarantine.
 */
async function learnTill(
  context: ReconcileContext,
  till: Till,
  { hasProof, since }: { readonly hasProof: boolean; readonly since: number },
): Promise<void> {
  const { db, policy, log } = context
  await doubtAfterSilence(db, till.id, policy.silenceSecondsMax)
  const scan = await scanTill(context, till)
  const { mark } = scan
  const mayHaveLost = mark.isNew ? till.sinceBlock !== null : hasProof || mark.isDoubted
  if (!mayHaveLost) return trustUndoubted(db, till.id)
  // Another replica has done so meanwhile, and sells: what was asked for and came since belongs to its buyers.
  if (await isSetAsideSince(db, till.id, since)) return
  await quarantine(context, till, { ...scan, since })
  log.warn('the store was behind the chain: payments without an order are held', { till: till.id, hasProof })
}
