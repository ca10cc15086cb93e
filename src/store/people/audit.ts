import { type JsonObject, sha256Hex } from '../../base/json.ts'
import type { Operator } from '../../domain/operator.ts'
import type { Queryable, Transaction } from '../db.ts'
import { statement } from '../statement.ts'

/** One thing that somebody did, as it is kept for ever. */
type AuditEntry = {
  readonly deedId: string
  readonly callId: string
  readonly at: string
  readonly who: string
  readonly operatorId: string
  readonly role: Operator['role']
  readonly via: Operator['via']
  readonly address: string
  readonly deed: string
  readonly about: { readonly kind: string; readonly id: string }
  readonly before: JsonObject | null
  readonly after: JsonObject | null
  readonly reason: string | null
}

/** Where an entry stands, and what holds it there. */
type AuditPlace = { readonly position: bigint; readonly hash: string }

export type AuditRecord = AuditEntry & AuditPlace

/** What the first entry follows. */
const BEGIN: AuditPlace = { position: 0n, hash: '0'.repeat(64) }

// The lock is held to the end of the transaction: nobody appends to an entry that may still be taken back.
const LOCK_TAIL = statement<{ position: string; hash: string }>(`
  insert into audit_tail (id, position, hash)
  values (true, 0, '${BEGIN.hash}')
  on conflict (id) do update set position = audit_tail.position
  returning position, hash`)

const APPEND = statement(`
  with appended as (
    insert into audit (position, entry, previous, hash)
    select position, entry::json, previous, hash
    from unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) as a (position, entry, previous, hash)
  )
  update audit_tail
  set position = $5,
      hash = $6`)

/** To be called last in a transaction: until it ends, everybody else who does something waits. */
export async function appendAudit(tx: Transaction, entries: readonly AuditEntry[]): Promise<readonly AuditPlace[]> {
  const { rows } = await tx.query(LOCK_TAIL)
  const links: { position: bigint; text: string; previous: string; hash: string }[] = []
  let last: AuditPlace = { position: BigInt(rows[0]!.position), hash: rows[0]!.hash }
  for (const entry of entries) {
    const position = last.position + 1n
    const text = JSON.stringify({ position: position.toString(), ...entry })
    const link = { position, text, previous: last.hash, hash: hashOf(last.hash, text) }
    links.push(link)
    last = link
  }
  await tx.query(APPEND, [
    links.map(({ position }) => position.toString()),
    links.map(({ text }) => text),
    links.map(({ previous }) => previous),
    links.map(({ hash }) => hash),
    last.position.toString(),
    last.hash,
  ])
  return links
}

function hashOf(previous: string, text: string): string {
  return sha256Hex(`${previous}\n${text}`)
}

export type AuditFilter = {
  /** A name or an id. */
  readonly who?: string | undefined
  readonly deed?: string | undefined
  readonly about?: string | undefined
  /** Only what is older. */
  readonly before?: bigint | undefined
  readonly limit: number
}

type Row = { position: string; entry: string; previous: string; hash: string }

const LIST = statement<Row>(`
  select position, entry::text as entry, previous, hash
  from audit
  where ($1::text is null or lower(entry ->> 'who') = lower($1) or entry ->> 'operatorId' = $1)
    and ($2::text is null or entry ->> 'deed' = $2)
    and ($3::text is null or entry -> 'about' ->> 'id' = $3)
    and ($4::bigint is null or position < $4)
  order by position desc
  limit $5`)

/** Newest first. */
export async function listAudit(queryable: Queryable, filter: AuditFilter): Promise<readonly AuditRecord[]> {
  const { who = null, deed = null, about = null, before, limit } = filter
  const { rows } = await queryable.query(LIST, [who, deed, about, before?.toString() ?? null, limit])
  return rows.map(({ position, entry, hash }) => ({
    ...(JSON.parse(entry) as AuditEntry),
    position: BigInt(position),
    hash,
  }))
}

/** `changed`: not what was written. `removed`: it is not there. `inserted`: it was not written by the shop. */
type AuditFault = { readonly position: bigint; readonly kind: 'changed' | 'removed' | 'inserted' }

export type AuditVerdict = {
  readonly entries: number
  /** To be noted elsewhere: whoever may write to the store could write the whole log anew. */
  readonly head: AuditPlace
  readonly faults: readonly AuditFault[]
  /** Up to where it was read, if that is not the end. */
  readonly next: AuditPlace | null
}

/** Which part of it is read: after an entry that was read before, and so many. */
type AuditPart = { readonly from: AuditPlace | null; readonly entriesMax: number }

const ALL: AuditPart = { from: null, entriesMax: Number.POSITIVE_INFINITY }

const TAIL = statement<{ position: string; hash: string }>(`
  select position, hash
  from audit_tail`)

const PAGE = statement<Row>(`
  select position, entry::text as entry, previous, hash
  from audit
  where position > $1
    and position <= $2
  order by position
  limit $3`)

const BEYOND = statement<{ position: string }>(`
  select position
  from audit
  where position > (select coalesce(max(position), 0) from audit_tail)
  order by position
  limit $1`)

const PAGE_ROWS = 1_000
const FAULTS_MAX = 100
/** Before the first that there can be: what somebody slipped in there is seen too. */
const LOWEST = -(2n ** 63n)

/** Reads the log, or a part of it, and names what does not belong together. `noted` is an earlier end of it, from elsewhere. */
export async function verifyAudit(
  queryable: Queryable,
  noted: AuditPlace | null = null,
  { from, entriesMax }: AuditPart = ALL,
): Promise<AuditVerdict> {
  const { rows } = await queryable.query(TAIL)
  const head = rows[0] ? { position: BigInt(rows[0].position), hash: rows[0].hash } : BEGIN
  const faults = new Map<bigint, AuditFault['kind']>()
  const pageRows = Math.min(PAGE_ROWS, entriesMax)
  let last: AuditPlace = from ?? BEGIN
  let entries = 0
  let isNotedSeen = noted === null || noted.position <= (from?.position ?? LOWEST)
  for (let after = from?.position ?? LOWEST; faults.size < FAULTS_MAX; ) {
    const page = (await queryable.query(PAGE, [after.toString(), head.position.toString(), pageRows])).rows
    for (const row of page) {
      last = follow(last, row, faults)
      if (noted && last.position === noted.position) {
        isNotedSeen = true
        if (last.hash !== noted.hash) faults.set(last.position, 'changed')
      }
    }
    entries += page.length
    if (page.length < pageRows) break
    after = BigInt(page.at(-1)!.position)
    if (entries >= entriesMax && last.position > 0n) return { entries, head, faults: inOrder(faults), next: last }
  }
  const missing = missingBetween(last.position, head.position + 1n)
  for (const position of missing) faults.set(position, 'removed')
  if (missing.length === 0 && last.hash !== head.hash) faults.set(last.position, 'changed')
  if (!isNotedSeen) faults.set(noted!.position, 'removed')
  for (const { position } of (await queryable.query(BEYOND, [FAULTS_MAX])).rows)
    faults.set(BigInt(position), 'inserted')
  return { entries, head, faults: inOrder(faults), next: null }
}

function inOrder(faults: ReadonlyMap<bigint, AuditFault['kind']>): readonly AuditFault[] {
  const found = [...faults].map(([position, kind]) => ({ position, kind }))
  return found.toSorted((a, b) => (a.position < b.position ? -1 : 1))
}

/** Checks one entry against the one before it. */
function follow(last: AuditPlace, row: Row, faults: Map<bigint, AuditFault['kind']>): AuditPlace {
  const position = BigInt(row.position)
  const place = { position, hash: row.hash }
  if (position <= 0n) {
    faults.set(position, 'inserted')
    return last
  }
  const missing = missingBetween(last.position, position)
  for (const gone of missing) faults.set(gone, 'removed')
  const isWhole = hashOf(row.previous, row.entry) === row.hash && placeIn(row.entry) === row.position
  if (!isWhole) faults.set(position, 'changed')
  // It is whole and was written after another one: that one was put in the place of what stood there.
  else if (missing.length === 0 && row.previous !== last.hash) faults.set(last.position, 'changed')
  return place
}

function missingBetween(last: bigint, next: bigint): readonly bigint[] {
  const missing: bigint[] = []
  for (let position = last + 1n; position < next && missing.length < FAULTS_MAX; position++) missing.push(position)
  return missing
}

function placeIn(entry: string): unknown {
  try {
    return (JSON.parse(entry) as { position?: unknown }).position
  } catch {
    return null
  }
}
