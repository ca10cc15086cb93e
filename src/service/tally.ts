import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { createWakeSignal } from '../base/wake-signal.ts'
import type { Shelf } from '../domain/catalog.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { RailName } from '../domain/rail.ts'
import type { Database } from '../store/db.ts'
import { addFunnel, type FunnelHits } from '../store/funnel.ts'
import { recordShelfNames } from '../store/shelf-names.ts'
import { addUpOrders } from '../store/sums.ts'
import { pumpEvents } from '../webhooks/pump.ts'

/** Counts who is asked to pay and who is refused, for all replicas together. Never in the way: it neither waits nor fails. */
export type Tally = {
  count(surface: SurfaceName, rail: RailName, code: string, example?: string): void
  /** Writes down what was counted, and adds up what has moved. */
  flush(): Promise<void>
  start(): void
  stop(): Promise<void>
}

type TallyParts = {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  /** What is on sale, for the names of things. */
  shelves(): readonly Shelf[]
}

/** Counts pile up in this process for so long: a flood costs one statement in two seconds, and each answer an addition. */
const WRITE_MS = 2_000
const LOOK_MS = 10_000
/** Names change seldom, and may have to be asked of a chain or a game. */
const NAMES_MS = 60_000
const EXAMPLE_LENGTH_MAX = 200

type Count = { -readonly [Name in 'surface' | 'rail' | 'code' | 'count' | 'example']: FunnelHits[Name] }

export function createTally({ database, clock, log, shelves }: TallyParts): Tally {
  const stopping = new AbortController()
  const fresh = createWakeSignal(clock)
  let counts = new Map<string, Count>()
  let looping: Promise<void> | undefined

  async function write(): Promise<void> {
    if (counts.size === 0) return
    const taken = counts
    counts = new Map()
    const at = clock.now()
    try {
      await addFunnel(
        database,
        [...taken.values()].map((count) => ({ at, ...count })),
      )
    } catch (error) {
      // They are kept for the next time, and nobody waits for it.
      for (const count of taken.values()) add(counts, count)
      throw error
    }
  }

  async function flush(): Promise<void> {
    // What was not counted keeps no sum of orders waiting.
    const counted = write()
    await Promise.allSettled([counted])
    await pumpEvents(database)
    await addUpOrders(database)
    await counted
  }

  async function loop(): Promise<void> {
    for (let namesAt = 0; !stopping.signal.aborted; ) {
      // Nothing is asked of a chain or a game for a shop that nobody has visited.
      await fresh.wait(LOOK_MS, stopping.signal)
      if (clock.now() >= namesAt) {
        namesAt = clock.now() + NAMES_MS
        await noteNames(database, shelves()).catch((error: unknown) =>
          log.warn('shelf names could not be saved', { error }),
        )
      }
      await flush().catch((error: unknown) => log.warn('statistics could not be saved', { error }))
      await clock.sleep(WRITE_MS, stopping.signal)
    }
  }

  return {
    count(surface, rail, code, example) {
      const isFirst = add(counts, { surface, rail, code, count: 1, example: example ?? null })
      if (isFirst) fresh.ring()
    },
    flush,
    start() {
      looping = loop()
    },
    async stop() {
      stopping.abort()
      await looping
      // What the last requests were told is told too.
      await flush().catch(() => {})
    },
  }
}

/** False: it was added to what was counted before, whose example stays. */
function add(counts: Map<string, Count>, { example, ...count }: Count): boolean {
  const key = `${count.surface} ${count.rail} ${count.code}`
  const known = counts.get(key)
  if (known) known.count += count.count
  else counts.set(key, { ...count, example: storable(example) })
  return !known
}

/** Refusals repeat what callers sent; what PostgreSQL takes no text of must not keep all other counts from being written. */
function storable(example: string | null): string | null {
  return example?.slice(0, EXAMPLE_LENGTH_MAX).replaceAll('\0', '').toWellFormed() ?? null
}

async function noteNames(database: Database, shelves: readonly Shelf[]): Promise<void> {
  const names = await Promise.all(
    shelves.map(async ({ surface, items }) => {
      // A shelf that cannot be read keeps the names that it had.
      const listed = await items('', null).catch(() => [])
      return listed.map(({ id, displayName: name }) => ({ surface, id, name }))
    }),
  )
  await recordShelfNames(database, names.flat())
}
