import { type Clock, countdown } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { isProblem } from '../base/problem.ts'
import type { Database } from './db.ts'

type PatienceParts = { readonly clock: Clock; readonly log: Log }

/** Longer than a server takes to recover or to be replaced; and five starts that give up take longer than a supervisor counts them for. */
const PATIENCE_MS = 30_000
const PAUSE_MS = 1_000
/** A process that was kept from running finds all its time gone at once, and the store has done nothing wrong. */
const TRIES_MIN = 3

/**
 * Asks again what a store could not answer. For a start only: nobody waits for it, and whatever it asks or writes may be done twice. To die
 * and load everything anew would cost a busy machine more than to wait, and make it busier.
 */
export async function patiently<T>(ask: () => Promise<T>, { clock, log }: PatienceParts): Promise<T> {
  const left = countdown(clock, PATIENCE_MS)
  for (let tries = 1; ; tries++) {
    try {
      return await ask()
    } catch (error) {
      const isOver = tries >= TRIES_MIN && left() <= 0
      if (isOver || !isProblem(error, 'store_unavailable')) throw error
      if (tries === 1) log.warn('the store cannot be reached or is too busy; the start waits for it', { error })
      await clock.sleep(PAUSE_MS)
    }
  }
}

/** The same store, for all that a start asks of it. */
export function patientDatabase(database: Database, parts: PatienceParts): Database {
  return {
    ...database,
    query: (sql, values) => patiently(() => database.query(sql, values), parts),
    transaction: (work, options) => patiently(() => database.transaction(work, options), parts),
  }
}
