import { stringify } from '../../base/json.ts'
import type { Hold } from '../../domain/good.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { statement } from '../statement.ts'

const PREPARE = statement(`
  insert into hold_totals (resource)
  select unnest($1::text[])
  on conflict (resource) do nothing`)

/** SQL: what `holdValue` writes, as rows of `h`. */
export function heldIn(holds: string): string {
  return `jsonb_to_recordset(${holds}::jsonb)
      as h (resource text, quantity numeric, ceiling numeric, used numeric, seen_version numeric, kept boolean)`
}

// What was given back since the limit was read may have been used up first, and then the limit is lower by now; so it counts as if it were
// still held. A resource that was never held has no row.
const FITS = 'greatest(t.held, h.used) + coalesce(t.version - h.seen_version, 0) + h.quantity <= h.ceiling'

/** SQL that takes holds of resources that were never held, for the statement that it becomes a part of. */
export function begunBy(holds: string): string {
  return `
    insert into hold_totals (resource, held)
    select h.resource, h.used + h.quantity
    from ${heldIn(holds)}
    where not exists (select from hold_totals t where t.resource = h.resource)
      and h.used + h.quantity <= h.ceiling`
}

/**
 * SQL that takes holds, for the statement that it becomes a part of. It waits for the transaction that has the row locked, then judges its newest
 * state: two buyers of the last piece cannot both get it.
 */
export function takenBy(holds: string): string {
  return `
    update hold_totals t
    set held = greatest(t.held, h.used) + h.quantity
    from ${heldIn(holds)}
    where t.resource = h.resource
      and ${FITS}`
}

const TAKE = statement<{ resource: string }>(`${takenBy('$1')}
  returning t.resource`)

const LOOK = statement<{ resource: string; version: string; fits: boolean }>(`
  select h.resource, coalesce(t.version, 0) as version, ${FITS} as fits
  from ${heldIn('$1')}
  left join hold_totals t on t.resource = h.resource`)

const RECORD = statement(`
  insert into holds (order_id, resource, quantity, kept)
  select $2, h.resource, h.quantity, h.kept
  from ${heldIn('$1')}`)

const VERSIONS = statement<{ resource: string; version: string }>(`
  select resource, version
  from hold_totals
  where resource = any ($1::text[])`)

const HELD = statement<{ resource: string; order_id: string; quantity: string }>(`
  select resource, order_id, quantity
  from holds
  where resource = any ($1::text[])
    and released_at is null`)

type HoldRefusal = { readonly hold: Hold; readonly isStale: boolean }

/** One parameter of a statement. Always in the same order, so that two orders for the same things never wait for each other crosswise. */
export function holdValue(holds: readonly Hold[]): string {
  const sorted = holds.toSorted((a, b) => (a.resource < b.resource ? -1 : 1))
  return stringify(
    sorted.map(({ resource, quantity, limit, used = 0n, seenVersion, keptWhenDelivered = false }) => ({
      resource,
      quantity: quantity.toString(),
      ceiling: limit.toString(),
      used: used.toString(),
      seen_version: seenVersion?.toString() ?? null,
      kept: keptWhenDelivered,
    })),
  )
}

/** Which of them would not be granted now? Null: all would be. */
export async function holdRefusal(queryable: Queryable, holds: readonly Hold[]): Promise<HoldRefusal | null> {
  if (holds.length === 0) return null
  const { rows } = await queryable.query(LOOK, [holdValue(holds)])
  const refused = rows.find(({ fits }) => !fits)
  if (!refused) return null
  const hold = holds.find(({ resource }) => resource === refused.resource)!
  const { seenVersion } = hold
  return { hold, isStale: seenVersion !== undefined && BigInt(refused.version) !== seenVersion }
}

/** All of them or, by the caller's rollback, none. Returns the first that was not granted. */
export async function takeHolds(tx: Transaction, holds: readonly Hold[]): Promise<HoldRefusal | null> {
  await tx.query(PREPARE, [holds.map(({ resource }) => resource).toSorted()])
  const { rows } = await tx.query(TAKE, [holdValue(holds)])
  const taken = new Set(rows.map(({ resource }) => resource))
  const hold = holds.find(({ resource }) => !taken.has(resource))
  return hold ? { hold, isStale: await isStale(tx, hold) } : null
}

export async function recordHolds(tx: Transaction, orderId: string, holds: readonly Hold[]): Promise<void> {
  await tx.query(RECORD, [holdValue(holds), orderId])
}

async function isStale(tx: Transaction, { resource, seenVersion }: Hold): Promise<boolean> {
  if (seenVersion === undefined) return false
  const { rows } = await tx.query(VERSIONS, [[resource]])
  return BigInt(rows[0]?.version ?? 0) !== seenVersion
}

type HeldQuantity = { readonly resource: string; readonly orderId: string; readonly quantity: bigint }

export type HoldReader = {
  /** How much was ever given back of each. Read before a limit is read from outside, and handed in with the hold. */
  versions(resources: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** What is set aside of these resources now, and by which orders. */
  held(resources: readonly string[]): Promise<readonly HeldQuantity[]>
}

export function createHoldReader(db: Database): HoldReader {
  return {
    async versions(resources) {
      const { rows } = await db.query(VERSIONS, [resources])
      const known = new Map(rows.map(({ resource, version }) => [resource, BigInt(version)]))
      return new Map(resources.map((resource) => [resource, known.get(resource) ?? 0n]))
    },
    async held(resources) {
      const { rows } = await db.query(HELD, [resources])
      return rows.map(({ resource, order_id, quantity }) => ({
        resource,
        orderId: order_id,
        quantity: BigInt(quantity),
      }))
    },
  }
}
