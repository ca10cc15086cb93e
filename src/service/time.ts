import type { SyncedClock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Database } from '../store/db.ts'
import { storeTime } from '../store/time.ts'

const EVERY_MS = 60_000
const AGAIN_MS = 5_000

/** Sets the clock by the store, now and every minute until the signal. A store that does not answer later is asked again. */
export async function keepTime(clock: SyncedClock, database: Database, log: Log, stop: AbortSignal): Promise<void> {
  /** Returns when to look again. */
  async function set(): Promise<number> {
    const offsetMs = await clock.sync(() => storeTime(database))
    if (offsetMs === null) log.warn('the clock could not be compared: the store answers too slowly')
    else if (offsetMs !== 0) log.warn('the clock of this machine is off; the time of the store counts', { offsetMs })
    return offsetMs === null ? AGAIN_MS : EVERY_MS
  }
  async function keep(firstMs: number): Promise<void> {
    for (let ms = firstMs; !stop.aborted; ) {
      await clock.sleep(ms, stop)
      if (stop.aborted) return
      ms = await set().catch((error) => {
        log.warn('the clock could not be set', { error })
        return EVERY_MS
      })
    }
  }
  void keep(await set())
}
