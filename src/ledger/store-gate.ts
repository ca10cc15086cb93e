import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { Problem } from '../base/problem.ts'
import type { KeyCount } from '../domain/journal.ts'
import type { Trouble } from '../domain/trouble.ts'
import type { Database } from '../store/db.ts'
import { beginHistory, followHistory, type History, isFailover, readHistory } from '../store/history.ts'
import { noteCounts } from '../store/sends/keys.ts'

/** Closed while the store may not have all that the shop has written. An operator opens it: a restore is said, and never guessed. */
export type StoreGate = {
  /** Throws 503 while nothing is sold. */
  assertOpen(): void
  /** What keeps it closed, for operators; null: nothing that they have to decide. */
  trouble(): Trouble | null
  /** When an operator last said that the store was restored, in milliseconds; 0: never. */
  restoredAt(): number
  /** Is the shop open, and is this still the store that it sells from? The store itself is asked; one that does not answer may be another one. */
  isKnown(): Promise<boolean>
  /** Tries to open it once. */
  open(): Promise<void>
  /** Looks again every second until `stop` is aborted. */
  watch(stop: AbortSignal): void
}

type GateParts = {
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  /** How many transactions the chains have counted of the keys of the shop. */
  countSends(): Promise<readonly KeyCount[]>
  /** The standby has every commit before the shop hears of it, so a failover loses nothing. */
  readonly isStandbySynchronous: boolean
}

const LOOK_MS = 1_000

type State = { readonly kind: 'starting' | 'open' } | { readonly kind: 'closed'; readonly why: string }

/**
 * Two facts close it: the store has another history than the shop last sold from, and a key has sent what the journal does not know. `sutler restored` takes
 * both as they are, and says since when the store may lack purchases.
 */
export function createStoreGate({ db, clock, log, countSends, isStandbySynchronous }: GateParts): StoreGate {
  let state: State = { kind: 'starting' }
  let restoredAt = 0

  function close(why: string): void {
    if (state.kind !== 'closed' || state.why !== why) log.error('nothing is sold until an operator has looked', { why })
    state = { kind: 'closed', why }
  }

  async function look(): Promise<void> {
    const history = await readHistory(db)
    restoredAt = history.restoredAt
    if (!history.isKnown) {
      if (!(isStandbySynchronous && isFailover(history))) return close(movedWords(history))
      await followHistory(db, history)
      log.warn('the store failed over to a synchronous standby', { from: history.known, to: history.actual })
    }
    if (state.kind === 'open') return
    const counts = await countSends()
    const foreign = counts.find(({ isBeyond }) => isBeyond)
    if (foreign) return close(keyWords(foreign))
    await noteCounts(db, counts)
    state = { kind: 'open' }
  }

  async function keepWatch(stop: AbortSignal): Promise<void> {
    for (;;) {
      await clock.sleep(LOOK_MS, stop)
      if (stop.aborted) return
      // A store or a chain that does not answer sells nothing either.
      await look().catch((error) => log.debug('the store or a chain could not be asked', { error }))
    }
  }

  return {
    assertOpen() {
      if (state.kind !== 'open') throw closedProblem(state.kind)
    },
    trouble: () => (state.kind === 'closed' ? { kind: 'attention', about: 'the store', detail: state.why } : null),
    restoredAt: () => restoredAt,
    async isKnown() {
      if (state.kind !== 'open') return false
      return readHistory(db).then(
        ({ isKnown }) => isKnown,
        () => false,
      )
    },
    async open() {
      await beginHistory(db)
      await look().catch((error) => log.error('a chain could not be read; nothing is sold until it is', { error }))
    },
    watch(stop) {
      void keepWatch(stop)
    },
  }
}

const COMMAND =
  'Run `sutler restored`. Where nothing can be missing, because the shop was stopped and all of its store was moved, run `sutler restored --complete`.'

function movedWords({ known, actual }: History): string {
  return `The store has another history (${actual}) than the shop last sold from (${known}): it was restored, moved, or failed over to a standby that may lack purchases. ${COMMAND}`
}

function keyWords({ chainId, signer, counted }: KeyCount): string {
  return `Key ${signer} has sent ${counted} transactions on chain ${chainId}, more than the journal knows: the store was restored, or another holder of the key has sent them. Replace the key in the second case. ${COMMAND}`
}

function closedProblem(kind: 'starting' | 'closed'): Problem {
  return kind === 'starting'
    ? new Problem(
        'chain_unavailable',
        'The shop has just started and is still syncing with the chain; nothing was taken, try again shortly.',
      )
    : new Problem(
        'store_unavailable',
        'The shop is closed until its operator has looked at its store; nothing was taken, try again later.',
      )
}
