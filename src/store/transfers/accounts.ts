import { newId, type Random } from '../../base/id.ts'
import { Problem } from '../../base/problem.ts'
import type { Transfer } from '../../domain/receiving-account.ts'
import type { Database, Queryable } from '../db.ts'
import { statement } from '../statement.ts'

const ADD = statement(`
  insert into receiving_accounts (id, first_block, read_block)
  values ($1, $2::bigint + 1, $2)
  on conflict (id) do nothing`)

/** A node may name a block some minutes before it can search it. What is known already is not added twice. */
const READ_AGAIN = 600

const MARK = statement<{ from_block: string; read_until: Date; missing: string[] }>(`
  select greatest(first_block, read_block + 1 - ${READ_AGAIN}) as from_block, read_until, missing
  from receiving_accounts
  where id = $1`)

export type AccountMark = {
  /** Where the next reading begins. */
  readonly fromBlock: bigint
  /** Orders settled before this were compared, in milliseconds. */
  readonly readUntil: number
  /** Those whose payment was missing then. */
  readonly missing: readonly string[]
}

/** Where the reading of an account goes on; a new one begins after the block that it is asked for. */
export async function openAccount(db: Database, id: string, after: () => Promise<bigint>): Promise<AccountMark> {
  const read = async () => (await db.query(MARK, [id])).rows[0]
  // It is new once, and read for ever.
  const known = await read()
  if (!known) await db.query(ADD, [id, (await after()).toString()])
  const { from_block, read_until, missing } = known ?? (await read())!
  return { fromBlock: BigInt(from_block), readUntil: read_until.getTime(), missing }
}

const INSERT = statement(`
  insert into transfers (id, account, transaction, log_index, block_number, sender, amount)
  select id, $1, transaction, log_index, block_number, sender, amount
  from unnest($2::text[], $3::text[], $4::int[], $5::bigint[], $6::text[], $7::numeric[])
    as t (id, transaction, log_index, block_number, sender, amount)
  on conflict (account, transaction, log_index) do nothing`)

const ADVANCE = statement(`
  update receiving_accounts
  set read_block = greatest(read_block, $2)
  where id = $1
    and read_block + 1 >= $3`)

type Reading = { readonly transfers: readonly Transfer[]; readonly fromBlock: bigint; readonly toBlock: bigint }

/** Adds what final blocks show, and advances the mark. */
export function recordReading(db: Database, account: string, reading: Reading, random: Random): Promise<void> {
  const { fromBlock, toBlock, transfers } = reading
  return db.transaction(async (tx) => {
    await addTransfers(tx, account, transfers, random)
    const { rowCount } = await tx.query(ADVANCE, [account, toBlock.toString(), fromBlock.toString()])
    // Nothing would read the blocks in between again.
    if (rowCount === 0)
      throw new Problem('store_unavailable', 'The store was restored, and has read less than this reading began with.')
  })
}

/** Adds transfers in final blocks. */
export async function addTransfers(
  queryable: Queryable,
  account: string,
  transfers: readonly Transfer[],
  random: Random,
): Promise<void> {
  if (transfers.length === 0) return
  await queryable.query(INSERT, [
    account,
    transfers.map(() => newId('trf', random)),
    transfers.map(({ transaction }) => transaction),
    transfers.map(({ logIndex }) => logIndex),
    transfers.map(({ blockNumber }) => blockNumber.toString()),
    transfers.map(({ sender }) => sender),
    transfers.map(({ amount }) => amount.toString()),
  ])
}

const REPORT = statement(`
  update receiving_accounts
  set difference = $2,
      missing = $3,
      read_until = greatest(read_until, $4),
      reported_at = now()
  where id = $1`)

type ReportedAccount = {
  readonly difference: bigint
  readonly missing: readonly string[]
  /** Orders settled before this were compared, in milliseconds. */
  readonly readUntil: number
}

/** Stores what a look found, for requests that come while the chain cannot be read. */
export async function recordReport(queryable: Queryable, id: string, reported: ReportedAccount): Promise<void> {
  const { difference, missing, readUntil } = reported
  await queryable.query(REPORT, [id, difference.toString(), missing, new Date(readUntil)])
}

const REPORTS = statement<{ id: string; difference: string; read_block: string; reported_at: Date }>(`
  select id, difference, read_block, reported_at
  from receiving_accounts
  where reported_at is not null
  order by id`)

export type LastReport = {
  readonly account: string
  readonly difference: bigint
  readonly block: bigint
  readonly at: number
}

export async function readReports(queryable: Queryable): Promise<readonly LastReport[]> {
  return (await queryable.query(REPORTS)).rows.map(({ id, difference, read_block, reported_at }) => ({
    account: id,
    difference: BigInt(difference),
    block: BigInt(read_block),
    at: reported_at.getTime(),
  }))
}
