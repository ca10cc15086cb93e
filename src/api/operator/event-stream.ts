import { type Clock, countdown, isoTime } from '../../base/clock.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Database } from '../../store/db.ts'
import { type EventSieve, fitsSieve, type LoggedEvent, type NewestEvents, readEvents } from '../../store/events.ts'

/** Hands the log to operators, page by page or as it grows. */
export type EventLog = {
  read(after: bigint, limit: number): Promise<readonly LoggedEvent[]>
  /** The other way round: what happened last comes first. */
  newest(question: NewestEvents): Promise<readonly LoggedEvent[]>
  last(): Promise<bigint>
  /** The last position that is no longer kept. */
  forgotten(): Promise<bigint>
  /** Server-sent events from a position on, for as long as somebody listens. */
  stream(after: bigint, wanted?: EventSieve): AsyncIterable<string>
}

export function presentEvent({ id, position, subject, sequence, type, at, data }: LoggedEvent): JsonObject {
  return { id, position: position.toString(), type, timestamp: isoTime(at), subject, sequence, data }
}

const PAGE = 100
const POLL_MS = 500
/** Proxies close what is silent for a minute. */
const HEARTBEAT_MS = 15_000

type StreamParts = {
  readonly db: Database
  readonly clock: Clock
  /** Resolves when this process has placed new events, or after so many milliseconds. */
  waitForNews(ms: number): Promise<void>
  readonly stop: AbortSignal
}

/**
 * Reads the log itself, so that nothing is lost between two replicas or two connections: the id of each event is its position, and a
 * client that comes back with the last one it saw (`Last-Event-ID`) gets what came after.
 */
export async function* streamEvents(
  { db, clock, waitForNews, stop }: StreamParts,
  after: bigint,
  wanted: EventSieve = {},
): AsyncGenerator<string> {
  yield 'retry: 2000\n\n'
  let seen = after
  let left = countdown(clock, HEARTBEAT_MS)
  while (!stop.aborted) {
    const events = await readEvents(db, seen, PAGE)
    const told = events.filter((event) => fitsSieve(event, wanted))
    seen = events.at(-1)?.position ?? seen
    if (told.length > 0 || left() <= 0) {
      yield told.length > 0 ? told.map(printed).join('') : ': still here\n\n'
      left = countdown(clock, HEARTBEAT_MS)
    } else if (events.length === 0) await waitForNews(POLL_MS)
  }
}

function printed(event: LoggedEvent): string {
  return `id: ${event.position}\nevent: ${event.type}\ndata: ${stringify(presentEvent(event))}\n\n`
}
