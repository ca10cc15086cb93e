import { newId } from '../../base/id.ts'
import { type JsonObject, stringify } from '../../base/json.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { type Doer, recordDeeds } from '../deeds.ts'
import { statement } from '../statement.ts'

type ApprovalKind = 'order.refund' | 'order.decide' | 'transfer.refund'

/** A refund that one person asked for, and that another one has to approve. */
export type Approval = {
  readonly id: string
  readonly kind: ApprovalKind
  /** An order or a transfer. */
  readonly about: string
  /** What is needed to carry it out, and to decide about it. */
  readonly request: JsonObject
  readonly amount: bigint
  readonly asked: { readonly id: string; readonly name: string; readonly role: string; readonly at: number }
  readonly expiresAt: number
  readonly state: 'open' | 'approved' | 'refused' | 'expired'
  readonly decided: { readonly id: string; readonly name: string; readonly at: number } | null
}

const OPEN_MS = 24 * 3_600_000

type Row = {
  id: string
  kind: ApprovalKind
  about: string
  request: JsonObject
  amount: string
  asked_by: string
  asked_name: string
  asked_role: string
  asked_at: Date
  expires_at: Date
  state: Approval['state']
  decided_by: string | null
  decided_name: string | null
  decided_at: Date | null
}

const EXPIRE = statement(`
  update approvals
  set state = 'expired'
  where kind = $1
    and about = $2
    and state = 'open'
    and expires_at <= $3`)

const ASK = statement<Row>(`
  insert into approvals (id, kind, about, request, amount, asked_by, asked_name, asked_role, asked_at, expires_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  on conflict (kind, about) where state = 'open' do nothing
  returning *`)

const OPEN = statement<Row>(`
  select *
  from approvals
  where kind = $1
    and about = $2
    and state = 'open'`)

type Wish = Pick<Approval, 'kind' | 'about' | 'request' | 'amount'>

/** One is open for each thing at a time: whoever asks again is told of that one. */
export function askApproval(db: Database, doer: Doer, { kind, about, request, amount }: Wish): Promise<Approval> {
  const { who, by, at, random } = doer
  return db.transaction(async (tx) => {
    await tx.query(EXPIRE, [kind, about, new Date(at)])
    const times = [new Date(at), new Date(at + OPEN_MS)]
    const asker = [who.id, by, who.role]
    const asked = await tx.query(ASK, [
      newId('apv', random),
      kind,
      about,
      stringify(request),
      amount.toString(),
      ...asker,
      ...times,
    ])
    const fresh = asked.rows[0]
    if (!fresh) return fromRow((await tx.query(OPEN, [kind, about])).rows[0]!)
    const after = { kind, about, amount: amount.toString(), ...request }
    await recordDeeds(tx, doer, [{ deed: 'approval.asked', about: aboutApproval(fresh.id), before: null, after }])
    return fromRow(fresh)
  })
}

const FIND = statement<Row>(`
  select *
  from approvals
  where id = $1`)

export async function findApproval(queryable: Queryable, id: string): Promise<Approval | null> {
  const { rows } = await queryable.query(FIND, [id])
  return rows[0] ? fromRow(rows[0]) : null
}

const LIST = statement<Row>(`
  select *
  from approvals
  where ($1::text is null or (state = $1 and ($1 <> 'open' or expires_at > $2)))
  order by asked_at desc, id
  limit $3`)

/** Newest first. */
export async function listApprovals(
  queryable: Queryable,
  { state, now, limit }: { readonly state: Approval['state'] | null; readonly now: number; readonly limit: number },
): Promise<readonly Approval[]> {
  return (await queryable.query(LIST, [state, new Date(now), limit])).rows.map(fromRow)
}

const DECIDE = statement<Row>(`
  update approvals
  set state = $2,
      decided_by = $3,
      decided_name = $4,
      decided_at = $5
  where id = $1
    and state = 'open'
    and expires_at > $5
    and ($2 <> 'approved' or asked_by <> $3)
  returning *`)

/** In the transaction of what was asked for. False when it is not open any more, or whoever asked would approve it. */
export async function decideApproval(
  tx: Transaction,
  { who, by, at }: Doer,
  id: string,
  state: 'approved' | 'refused',
): Promise<boolean> {
  return (await tx.query(DECIDE, [id, state, who.id, by, new Date(at)])).rows.length === 1
}

/** Also by whoever asked: they take it back. */
export function refuseApproval(db: Database, doer: Doer, id: string, reason: string | undefined): Promise<boolean> {
  return db.transaction(async (tx) => {
    if (!(await decideApproval(tx, doer, id, 'refused'))) return false
    await recordDeeds(tx, doer, [
      {
        deed: 'approval.refused',
        about: aboutApproval(id),
        before: { state: 'open' },
        after: { state: 'refused' },
        reason,
      },
    ])
    return true
  })
}

export function aboutApproval(id: string): { kind: 'approval'; id: string } {
  return { kind: 'approval', id }
}

function fromRow(row: Row): Approval {
  const { id, kind, about, request, amount, state, expires_at, decided_by, decided_name, decided_at } = row
  return {
    id,
    kind,
    about,
    request,
    amount: BigInt(amount),
    asked: { id: row.asked_by, name: row.asked_name, role: row.asked_role, at: row.asked_at.getTime() },
    expiresAt: expires_at.getTime(),
    state,
    decided: decided_by === null ? null : { id: decided_by, name: decided_name ?? '', at: decided_at?.getTime() ?? 0 },
  }
}
