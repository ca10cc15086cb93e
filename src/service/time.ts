import type { SyncedClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Database } from '../store/db.ts'
import { storeTime } from '../store/time.ts'

const EVERY_MS = 60_000

/** Sets the clock by the store, now and every minute until the signal. A store that does not answer later is asked again. */
export async function keepTime(clock: SyncedClock, database: Database, log: Log, stop: AbortSignal): Promise<void> {
  async function set(): Promise<void> {
    const offsetMs = await clock.sync(() => storeTime(database))
    if (offsetMs !== 0) log.warn('the clock of this machine is off; the time of the store counts', { offsetMs })
  }
  async function keep(): Promise<void> {
    while (!stop.aborted) {
      await clock.sleep(EVERY_MS, stop)
      if (!stop.aborted) await set().catch((error) => log.warn('the clock could not be set', { error }))
    }
  }
  await set()
  void keep()
}
