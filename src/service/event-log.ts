import { type EventLog, streamEvents } from '../api/operator/event-stream.ts'
import type { Clock } from '../base/clock.ts'
import { createWakeSignal, type WakeSignal } from '../base/wake-signal.ts'
import type { Database } from '../store/db.ts'
import { forgottenPosition, lastPosition, newestEvents, readEvents } from '../store/events.ts'
import { pumpEvents } from '../webhooks/pump.ts'

/** The log of events as operators read it, and whoever listens to it at this moment. */
type OpenEventLog = EventLog & {
  /** This process has placed new events. */
  announce(): void
  /** Ends the streams. */
  close(): void
}

export function openEventLog(database: Database, clock: Clock): OpenEventLog {
  const stopping = new AbortController()
  const listeners = new Set<WakeSignal>()

  async function waitForNews(ms: number): Promise<void> {
    const wakeSignal = createWakeSignal(clock)
    listeners.add(wakeSignal)
    await wakeSignal.wait(ms, stopping.signal)
    listeners.delete(wakeSignal)
  }

  return {
    async read(after, limit) {
      await pumpEvents(database)
      return readEvents(database, after, limit)
    },
    async last() {
      await pumpEvents(database)
      return lastPosition(database)
    },
    newest: (question) => newestEvents(database, question),
    forgotten: () => forgottenPosition(database),
    stream: (after, wanted) => streamEvents({ db: database, clock, waitForNews, stop: stopping.signal }, after, wanted),
    announce() {
      for (const wakeSignal of listeners) wakeSignal.ring()
    },
    close: () => stopping.abort(),
  }
}
