import { isoTime } from '../base/clock.ts'
import { newId, type Random } from '../base/id.ts'
import { type JsonObject, stringify } from '../base/json.ts'
import type { EventType } from '../domain/event.ts'
import type { Operator } from '../domain/operator.ts'
import type { Database, Transaction } from './db.ts'
import { appendAudit } from './people/audit.ts'
import { statement } from './statement.ts'

/** Who does it, and when: the same for all that one call changes. */
export type Doer = {
  readonly who: Operator
  /** The name that is told: the operator's own, or what the holder of the shop's own token says. */
  readonly by: string
  readonly at: number
  readonly random: Random
  /** Hears of what was recorded. */
  readonly onRecorded?: () => void
}

/** Something that an operator did: what, to what, and how it was before and after. */
export type Deed = {
  readonly deed: string
  readonly about: { readonly kind: string; readonly id: string }
  /** Null: it did not exist. */
  readonly before: JsonObject | null
  readonly after: JsonObject | null
  readonly reason?: string | undefined
}

const ACTED: EventType = 'operator.acted'

/** How the shop is run, and by whom, is nobody's business outside: these stand in the audit log alone. */
const QUIET: ReadonlySet<string> = new Set(['approval', 'books', 'operator', 'route', 'session', 'token', 'webhook'])

// Each is an object of its own, changed once: a store that was restored from a backup never tells two deeds under one name.
const TELL = statement(`
  insert into events (subject, sequence, type, data)
  select d.data ->> 'deedId', 1, '${ACTED}', d.data
  from jsonb_array_elements($1::jsonb) as d (data)`)

/**
 * Written with the change it tells of, in the same transaction, and last in it: the audit log is one row after another. What one call did
 * shares a `callId`.
 */
export async function recordDeeds(tx: Transaction, doer: Doer, deeds: readonly Deed[]): Promise<void> {
  if (deeds.length === 0) return
  const { who, by, at, random } = doer
  const callId = newId('call', random)
  const did = deeds.map(({ reason = null, ...deed }) => ({
    deedId: newId('deed', random),
    callId,
    at: isoTime(at),
    ...deed,
    reason,
  }))
  const { id: operatorId, role, via, address } = who
  const places = await appendAudit(
    tx,
    did.map((deed) => ({ ...deed, who: by, operatorId, role, via, address })),
  )
  // Where it stands in the audit log goes out with it: whoever is told holds the shop to it.
  const told = did
    .map((deed, index) => {
      const { position, hash } = places[index]!
      return { ...deed, by, role, via, audit: { position: position.toString(), hash } }
    })
    .filter(({ about }) => !QUIET.has(about.kind))
  if (told.length > 0) await tx.query(TELL, [stringify(told)])
  doer.onRecorded?.()
}

/** For a deed that changes nothing in the store. */
export function recordDeed(db: Database, doer: Doer, deed: Deed): Promise<void> {
  return db.transaction((tx) => recordDeeds(tx, doer, [deed]))
}
