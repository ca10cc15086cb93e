import type { Hold } from '../../domain/good.ts'
import type { Database, Transaction } from '../db.ts'
import { statement } from '../statement.ts'

const PREPARE = statement(`
  insert into hold_totals (resource)
  select unnest($1::text[])
  on conflict (resource) do nothing`)

// Waits for whoever holds the row, then judges its newest state: two buyers of the last piece cannot both get it. What was given back
// since the limit was read may have been used up first, and then the limit is lower by now; so it counts as if it were still held.
const TAKE = statement<{ resource: string }>(`
  update hold_totals t
  set held = greatest(t.held, h.used) + h.quantity
  from unnest($1::text[], $2::numeric[], $3::numeric[], $4::numeric[], $5::numeric[]) as h (resource, quantity, ceiling, used, seen_version)
  where t.resource = h.resource
    and greatest(t.held, h.used) + coalesce(t.version - h.seen_version, 0) + h.quantity <= h.ceiling
  returning t.resource`)

const RECORD = statement(`
  insert into holds (order_id, resource, quantity, kept)
  select $1, resource, quantity, kept
  from unnest($2::text[], $3::numeric[], $4::boolean[]) as h (resource, quantity, kept)`)

const VERSIONS = statement<{ resource: string; version: string }>(`
  select resource, version
  from hold_totals
  where resource = any ($1::text[])`)

const HELD = statement<{ resource: string; order_id: string; quantity: string }>(`
  select resource, order_id, quantity
  from holds
  where resource = any ($1::text[])
    and released_at is null`)

export type HoldRefusal = { readonly hold: Hold; readonly isStale: boolean }

/** All of them or, by the caller's rollback, none. Returns the first that was not granted. */
export async function takeHolds(tx: Transaction, holds: readonly Hold[]): Promise<HoldRefusal | null> {
  // Always in the same order, so that two orders for the same things never wait for each other crosswise.
  const sorted = holds.toSorted((a, b) => (a.resource < b.resource ? -1 : 1))
  const resources = sorted.map(({ resource }) => resource)
  await tx.query(PREPARE, [resources])
  const { rows } = await tx.query(TAKE, [
    resources,
    sorted.map(({ quantity }) => quantity.toString()),
    sorted.map(({ limit }) => limit.toString()),
    sorted.map(({ used = 0n }) => used.toString()),
    sorted.map(({ seenVersion }) => seenVersion?.toString() ?? null),
  ])
  const taken = new Set(rows.map(({ resource }) => resource))
  const hold = holds.find(({ resource }) => !taken.has(resource))
  return hold ? { hold, isStale: await isStale(tx, hold) } : null
}

export async function recordHolds(tx: Transaction, orderId: string, holds: readonly Hold[]): Promise<void> {
  await tx.query(RECORD, [
    orderId,
    holds.map(({ resource }) => resource),
    holds.map(({ quantity }) => quantity.toString()),
    holds.map(({ keptWhenDelivered = false }) => keptWhenDelivered),
  ])
}

async function isStale(tx: Transaction, { resource, seenVersion }: Hold): Promise<boolean> {
  if (seenVersion === undefined) return false
  const { rows } = await tx.query(VERSIONS, [[resource]])
  return BigInt(rows[0]?.version ?? 0) !== seenVersion
}

type HeldQuantity = { readonly resource: string; readonly orderId: string; readonly quantity: bigint }

export type HoldBook = {
  /** How much was ever given back of each. Read before a limit is read from outside, and handed in with the hold. */
  versions(resources: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** What is set aside of these resources now, and by which orders. */
  held(resources: readonly string[]): Promise<readonly HeldQuantity[]>
}

export function createHoldBook(db: Database): HoldBook {
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
