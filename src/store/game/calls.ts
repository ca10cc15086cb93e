import type { Lease } from '../../domain/lease.ts'
import type { Alongside, Database } from '../db.ts'
import { leaseHeld } from '../jobs.ts'
import { statement } from '../statement.ts'

/** A delivery that a studio's own backend was asked for. */
export type GameCall = {
  readonly sentAt: number
  /** What an operator found out, where the backend could not say. */
  readonly verdict: { readonly outcome: GameVerdict; readonly by: string } | null
}

export type GameVerdict = 'delivered' | 'not_delivered'

/** What else is written in the same transaction: the audit entry. */

type NewCall = { readonly orderId: string; readonly sentAt: number; readonly seen: GameCall | null }

export type GameCalls = {
  find(orderId: string): Promise<GameCall | null>
  /**
   * Written before the request leaves, and only under the lease. False when the lease is lost, or somebody else wrote one since `seen` was
   * read: then nothing may be sent.
   */
  begin(lease: Lease, call: NewCall): Promise<boolean>
  /** The request provably never left. */
  withdraw(orderId: string, sentAt: number): Promise<void>
  /** An operator's word on a delivery that nobody else can judge. False when there is no such call, or it was decided before. */
  decide(
    judged: { readonly orderId: string; readonly sentAt: number },
    outcome: GameVerdict,
    by: string,
    alongside?: Alongside,
  ): Promise<boolean>
}

type Row = { sent_at: Date; verdict: GameVerdict | null; decided_by: string | null }

const FIND = statement<Row>(`
  select sent_at, verdict, decided_by
  from game_calls
  where order_id = $1`)

const BEGIN = statement<{ order_id: string }>(`
  insert into game_calls (order_id, sent_at)
  select $1, $2
  where ${leaseHeld({ kind: '$4', key: '$5', lease: '$6::uuid' })}
  on conflict (order_id) do update
  set sent_at = excluded.sent_at
  where game_calls.sent_at = $3
    and game_calls.verdict is null
  returning order_id`)

const WITHDRAW = statement(`
  delete from game_calls
  where order_id = $1
    and sent_at = $2
    and verdict is null`)

const DECIDE = statement<{ order_id: string }>(`
  update game_calls
  set verdict = $2,
      decided_by = $3
  where order_id = $1
    and verdict is null
    and sent_at = $4
  returning order_id`)

export function createGameCalls(db: Database): GameCalls {
  return {
    async find(orderId) {
      const { rows } = await db.query(FIND, [orderId])
      const [row] = rows
      if (!row) return null
      const { sent_at, verdict, decided_by } = row
      return {
        sentAt: sent_at.getTime(),
        verdict: verdict === null ? null : { outcome: verdict, by: decided_by ?? '' },
      }
    },
    async begin({ kind, key, lease }, { orderId, sentAt, seen }) {
      const before = seen && new Date(seen.sentAt)
      const { rows } = await db.query(BEGIN, [orderId, new Date(sentAt), before, kind, key, lease])
      return rows.length === 1
    },
    async withdraw(orderId, sentAt) {
      await db.query(WITHDRAW, [orderId, new Date(sentAt)])
    },
    async decide({ orderId, sentAt }, outcome, by, alongside) {
      return db.transaction(async (tx) => {
        const { rows } = await tx.query(DECIDE, [orderId, outcome, by, new Date(sentAt)])
        if (rows.length === 1) await alongside?.(tx)
        return rows.length === 1
      })
    },
  }
}
