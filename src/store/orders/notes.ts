import type { Database, Queryable } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

/** What an operator wrote about an order. Its buyer does not see it. */
export type OrderNote = { readonly id: string; readonly at: number; readonly by: string; readonly text: string }

const NOTES_MAX = 200

const ADD = statement(`
  insert into order_notes (id, order_id, author, text, at)
  values ($1, $2, $3, $4, $5)`)

const READ = statement<{ id: string; at: Date; author: string; text: string }>(`
  select id, at, author, text
  from order_notes
  where order_id = $1
  order by at desc, id desc
  limit ${NOTES_MAX}`)

export async function addNote(db: Database, doer: Doer, orderId: string, note: OrderNote): Promise<void> {
  const { id, by, text, at } = note
  await db.transaction(async (tx) => {
    await tx.query(ADD, [id, orderId, by, text, new Date(at)])
    const about = { kind: 'order', id: orderId }
    await recordDeeds(tx, doer, [{ deed: 'order.noted', about, before: null, after: { noteId: id, text } }])
  })
}

/** The newest first. */
export async function readNotes(queryable: Queryable, orderId: string): Promise<readonly OrderNote[]> {
  const { rows } = await queryable.query(READ, [orderId])
  return rows.map(({ id, at, author, text }) => ({ id, at: at.getTime(), by: author, text }))
}
