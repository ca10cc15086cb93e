import { newId, type Random } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import type { Transfer } from '../../domain/till.ts'
import type { Database, Queryable, Transaction } from '../db.ts'
import { statement } from '../statement.ts'
import { crossOffShown, noteMissing } from './missing-settlements.ts'
import { followMoved, MAY_MOVE } from './moved-transfers.ts'

const ADD_TILL = statement(`
  insert into tills (id, first_block, checked_block)
  values ($1, $2::bigint + 1, $2)
  on conflict (id) do nothing`)

/** Once in so many seconds one scan goes further back than the others, on whichever replica. */
const LOOK_BACK_SECONDS = 300
const turnAt = (time: string) => `div(extract(epoch from ${time} - created_at), ${LOOK_BACK_SECONDS})`

const TILL = statement<{ from_block: string; back_to_block: string; silent_seconds: number; is_restored: boolean }>(`
  select greatest(first_block, checked_block + 1 - $2::bigint) as from_block,
         greatest(first_block, checked_block + 1 - case
           when ${turnAt('now()')} = ${turnAt('alive_at')} then $2::bigint
           else $3::bigint
         end) as back_to_block,
         extract(epoch from now() - alive_at)::float8 as silent_seconds,
         coalesce(alive_at < (select restored_at from store_history), false) as is_restored
  from tills
  where id = $1`)

export type TillMark = {
  /** Where the next reading begins. */
  readonly fromBlock: bigint
  /** Older blocks are read once more from here up to `fromBlock`; mostly the two are equal. */
  readonly backToBlock: bigint
  /** For how long no replica has read it. */
  readonly silentSeconds: number
  readonly isNew: boolean
  /** The store was restored since it was last read. */
  readonly isRestored: boolean
}

/** Where the reading of a till goes on, so many blocks back from where it stopped; a new till begins after the block that it is asked for. */
export async function openTill(
  db: Database,
  id: string,
  { after, again, seldom = again }: { after: () => Promise<bigint>; readonly again: bigint; readonly seldom?: bigint },
): Promise<TillMark> {
  const values = [id, again.toString(), seldom.toString()]
  const read = async () => (await db.query(TILL, values)).rows[0]
  // It is new once, and read for ever.
  const known = await read()
  const added = known ? 0 : (await db.query(ADD_TILL, [id, (await after()).toString()])).rowCount
  const { from_block, back_to_block, silent_seconds, is_restored } = known ?? (await read())!
  return {
    fromBlock: BigInt(from_block),
    backToBlock: BigInt(back_to_block),
    silentSeconds: silent_seconds,
    isNew: added === 1,
    isRestored: is_restored,
  }
}

// An enemy decides how many transfers there are, and the statistics of the planner may be older than they: `not in` and `array` make sets of what was seen, once,
// whatever the planner expects. As joins they took minutes for two thousand.
const SEEN = (transactions: string, indexes: string) =>
  `(a.transaction, a.log_index) in (select * from unnest(${transactions}::text[], ${indexes}::int[]))`

// What went back stays so, with or without the money that it was for: it is missed like the payment of an order.
const GONE = statement<{ id: string; missing: string | null }>(`
  select id,
         case
           when state = 'matched' then order_id
           when state in ('refunding', 'refunded') then id
         end as missing
  from arrivals a
  where till = $1
    and block_number between $2 and $3
    and state <> 'dropped'
    and not ${SEEN('$4', '$5')}
  for update`)

const DROP = statement(`
  update arrivals
  set state = 'dropped',
      updated_at = now()
  where id = any ($1)
    and state not in ('refunding', 'refunded')`)

// A transfer that the chain shows again has its old state: one that an operator kept stays.
const INSERT = statement<{ id: string }>(`
  insert into arrivals (id, till, transaction, log_index, block_number, sender, amount, state)
  select id, $1, transaction, log_index, block_number, sender, amount, 'unclaimed'
  from unnest($2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[], $7::numeric[])
    as t (id, transaction, log_index, block_number, sender, amount)
  on conflict (till, transaction, log_index) do update
  set block_number = excluded.block_number,
      state = case
        when arrivals.state <> 'dropped' then arrivals.state
        when arrivals.decided_by is not null then 'kept'
        else 'unclaimed'
      end,
      updated_at = now()
  where (arrivals.state = 'dropped' or arrivals.block_number <> excluded.block_number)
    and ${MAY_MOVE('$8')}
  returning id`)

const ADVANCE = statement(`
  update tills
  set checked_block = greatest(checked_block, $2),
      alive_at = now()
  where id = $1
    and checked_block + 1 >= $3`)

const REPORT = statement(`
  update tills
  set difference = $2,
      seen_block = $3,
      reported_at = now()
  where id = $1`)

type TillWord = { readonly difference: bigint; readonly block: bigint }

/** Stores the result of a scan, for requests that come while the chain cannot be read. */
export async function recordReport(queryable: Queryable, id: string, { difference, block }: TillWord): Promise<void> {
  await queryable.query(REPORT, [id, difference.toString(), block.toString()])
}

const REPORTS = statement<{ id: string; difference: string; seen_block: string; reported_at: Date }>(`
  select id, difference, seen_block, reported_at
  from tills
  where reported_at is not null
  order by id`)

export async function readReports(
  queryable: Queryable,
): Promise<readonly (TillWord & { readonly till: string; readonly at: number })[]> {
  const { rows } = await queryable.query(REPORTS)
  return rows.map(({ id, difference, seen_block, reported_at }) => ({
    till: id,
    difference: BigInt(difference),
    block: BigInt(seen_block),
    at: reported_at.getTime(),
  }))
}

/**
 * `mayMoveFrom`: a transfer seen before this block stays where it was, unless it was dropped or goes back. The chain does not reorganise so far
 * back, and a transfer that a lying node moves from there to a block of today would count as dropped as soon as the node stops showing it.
 */
type Shown = { readonly transfers: readonly Transfer[]; readonly mayMoveFrom: bigint }

type Scan = Shown & { readonly fromBlock: bigint; readonly toBlock: bigint }

/**
 * Records what the chain shows in a range of blocks, and advances the mark. A transfer that was seen there before and is gone now was dropped by the
 * chain; returns the orders that such transfers had paid, and the arrivals that went back: all count as missing from the same moment on.
 */
export function recordScan(db: Database, till: string, scan: Scan, random: Random): Promise<readonly string[]> {
  const { fromBlock, toBlock, transfers } = scan
  return db.transaction(async (tx) => {
    const hashes = transfers.map(({ transaction }) => transaction)
    const indexes = transfers.map(({ logIndex }) => logIndex)
    const aside = await record(tx, till, { ...scan, drops: true }, random)
    const { rows: gone } = await tx.query(GONE, [till, fromBlock.toString(), toBlock.toString(), hashes, indexes])
    if (gone.length > 0) await tx.query(DROP, [gone.map(({ id }) => id)])
    const paid = gone.map(({ missing }) => missing).filter((id) => id !== null)
    const missing = await noteMissing(tx, till, [...new Set([...aside, ...paid])])
    const { rowCount } = await tx.query(ADVANCE, [till, toBlock.toString(), fromBlock.toString()])
    // Nothing would read the blocks in between again.
    if (rowCount === 0)
      throw new Problem('store_unavailable', 'The store has moved, and has read less than this reading began with.')
    return missing
  })
}

/** Records all transfers of some transactions, as the chain shows them; known ones are left as they are. What went back and is not among them is missing. */
export function recordArrivals(db: Database, till: string, shown: Shown, random: Random): Promise<void> {
  // Whoever looks for what is missing finds none, mostly, round after round.
  if (shown.transfers.length === 0) return Promise.resolve()
  return db.transaction(async (tx) => {
    await noteMissing(tx, till, await record(tx, till, { ...shown, drops: false }, random))
  })
}

async function record(
  tx: Transaction,
  till: string,
  shown: Shown & { readonly drops: boolean },
  random: Random,
): Promise<readonly string[]> {
  const { transfers, mayMoveFrom } = shown
  if (transfers.length === 0) return []
  const aside = await followMoved(tx, till, shown)
  await tx.query(INSERT, [
    till,
    transfers.map(() => newId('arr', random)),
    transfers.map(({ transaction }) => transaction),
    transfers.map(({ logIndex }) => logIndex),
    transfers.map(({ blockNumber }) => blockNumber.toString()),
    transfers.map(({ sender }) => sender),
    transfers.map(({ amount }) => amount.toString()),
    mayMoveFrom.toString(),
  ])
  await crossOffShown(tx, till, transfers)
  return aside
}
