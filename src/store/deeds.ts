import { isoTime } from '../base/clock.ts'
import { newId, type Random } from '../base/id.ts'
import { type JsonObject, stringify } from '../base/json.ts'
import type { EventType } from '../domain/event.ts'
import type { Transaction } from './db.ts'
import { statement } from './statement.ts'

/** Who does it, and when: the same for all that one call changes. */
export type Doer = { readonly by: string; readonly at: number; readonly random: Random }

/** Something that an operator did: what, to what, and how it was before and after. */
export type Deed = {
  readonly deed: string
  readonly about: { readonly kind: string; readonly id: string }
  /** Null: it did not exist. */
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

const ACTED: EventType = 'operator.acted'

// Each is an object of its own, changed once: a store that was restored from a backup never tells two deeds under one name.
const RECORD = statement(`
  insert into events (subject, sequence, type, data)
  select d.data ->> 'deedId', 1, '${ACTED}', d.data
  from jsonb_array_elements($1::jsonb) as d (data)`)

/** Written with the change it tells of, in the same transaction. What one call did shares a `callId`. */
export async function recordDeeds(tx: Transaction, { by, at, random }: Doer, deeds: readonly Deed[]): Promise<void> {
  if (deeds.length === 0) return
  const callId = newId('call', random)
  const told = deeds.map((deed) => ({ deedId: newId('deed', random), callId, by, at: isoTime(at), ...deed }))
  await tx.query(RECORD, [stringify(told)])
}
