import { newId, type Random } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import type { Transfer } from '../../domain/till.ts'
import type { Database, Queryable } from '../db.ts'
import { statement } from '../statement.ts'

const ADD_TILL = statement(`
  insert into tills (id, first_block, checked_block)
  values ($1, $2::bigint + 1, $2)
  on conflict (id) do nothing`)

/** A node may name a block some minutes before it can search it. What is known already is not added twice. */
const READ_AGAIN = 600

const TILL = statement<{ from_block: string; silent_seconds: number; is_restored: boolean }>(`
  select greatest(first_block, checked_block + 1 - ${READ_AGAIN}) as from_block,
         extract(epoch from now() - alive_at)::float8 as silent_seconds,
         coalesce(alive_at < (select restored_at from store_state), false) as is_restored
  from tills
  where id = $1`)

export type TillMark = {
  /** Where the next reading begins. */
  readonly fromBlock: bigint
  /** For how long no replica has read it. */
  readonly silentSeconds: number
  readonly isNew: boolean
  /** The store was restored since it was last read. */
  readonly isRestored: boolean
}

/** Where the reading of a till goes on; a new till begins after the block that it is asked for. */
export async function openTill(db: Database, id: string, after: () => Promise<bigint>): Promise<TillMark> {
  const read = async () => (await db.query(TILL, [id])).rows[0]
  // It is new once, and read for ever.
  const known = await read()
  const added = known ? 0 : (await db.query(ADD_TILL, [id, (await after()).toString()])).rowCount
  const { from_block, silent_seconds, is_restored } = known ?? (await read())!
  return {
    fromBlock: BigInt(from_block),
    silentSeconds: silent_seconds,
    isNew: added === 1,
    isRestored: is_restored,
  }
}

// Final transfers are only added, those of a transaction all at once. One that a caller has shown before may stand in another block by then.
const INSERT = statement(`
  insert into arrivals (id, till, transaction, log_index, block_number, sender, amount, state, final)
  select id, $1, transaction, log_index, block_number, sender, amount, 'unclaimed', $8
  from unnest($2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[], $7::numeric[])
    as t (id, transaction, log_index, block_number, sender, amount)
  where t.transaction <> all (array(
    select k.transaction
    from arrivals k
    where k.till = $1
      and k.final
      and k.transaction = any ($3::text[])))
  on conflict (till, transaction, log_index) do update
  set block_number = excluded.block_number,
      sender = excluded.sender,
      amount = excluded.amount,
      final = excluded.final
  where not arrivals.final`)

// What went back lay as deep as its amount demanded.
const FORGET_VANISHED = statement(`
  delete from arrivals
  where till = $1
    and block_number <= $2
    and not final
    and state not in ('refunding', 'refunded', 'kept')`)

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

type Scan = { readonly transfers: readonly Transfer[]; readonly fromBlock: bigint; readonly toBlock: bigint }

/** Records what final blocks show, and advances the mark. What a caller has shown and these blocks do not was given up by the chain. */
export function recordScan(db: Database, till: string, scan: Scan, random: Random): Promise<void> {
  const { fromBlock, toBlock, transfers } = scan
  return db.transaction(async (tx) => {
    await insert(tx, till, { transfers, isFinal: true }, random)
    await tx.query(FORGET_VANISHED, [till, toBlock.toString()])
    const { rowCount } = await tx.query(ADVANCE, [till, toBlock.toString(), fromBlock.toString()])
    // Nothing would read the blocks in between again.
    if (rowCount === 0)
      throw new Problem('store_unavailable', 'The store was restored, and has read less than this reading began with.')
  })
}

/** Records all transfers of a transaction that was shown by itself, perhaps before its block is final. */
export async function recordTransfers(
  db: Database,
  till: string,
  shown: { readonly transfers: readonly Transfer[]; readonly isFinal: boolean },
  random: Random,
): Promise<void> {
  await insert(db, till, shown, random)
}

async function insert(
  queryable: Queryable,
  till: string,
  { transfers, isFinal }: { readonly transfers: readonly Transfer[]; readonly isFinal: boolean },
  random: Random,
): Promise<void> {
  if (transfers.length === 0) return
  await queryable.query(INSERT, [
    till,
    transfers.map(() => newId('arr', random)),
    transfers.map(({ transaction }) => transaction),
    transfers.map(({ logIndex }) => logIndex),
    transfers.map(({ blockNumber }) => blockNumber.toString()),
    transfers.map(({ sender }) => sender),
    transfers.map(({ amount }) => amount.toString()),
    isFinal,
  ])
}
