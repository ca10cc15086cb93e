import type { Address, Hash } from '../../base/address.ts'
import type { ArrivalState, Transfer } from '../../domain/till.ts'
import type { Transaction } from '../db.ts'
import { statement } from '../statement.ts'

// A transaction that is mined again may have other logs before it, and it may move less or more than before: some contracts do not mind when one of their
// calls fails. So its transfers are known again by what they are. Known by its place, one that went back would lend its state to another that stands there now.

// What went back may have been gone from the chain for long, and is shown again elsewhere.
export const MAY_MOVE = (since: string) =>
  `(arrivals.block_number >= ${since} or arrivals.state in ('dropped', 'refunding', 'refunded'))`

type Known = {
  readonly id: string
  readonly transaction: Hash
  /** Below zero: it went aside when its transaction was mined again without it. */
  readonly log_index: number
  readonly sender: Address
  readonly amount: string
  readonly state: ArrivalState
  readonly may_move: boolean
}

// Strangers decide how many transfers there are: `not in` makes a set of what is shown, once, whatever the planner expects.
const MOVED = statement<Pick<Known, 'transaction'>>(`
  select distinct a.transaction
  from arrivals a
  where a.till = $1
    and a.transaction = any ($2::text[])
    and (a.transaction, a.log_index, lower(a.sender), a.amount) not in (
      select transaction, log_index, lower(sender), amount
      from unnest($2::text[], $3::int[], $4::text[], $5::numeric[]) as t (transaction, log_index, sender, amount))`)

const KNOWN = statement<Known>(`
  select id, transaction, log_index, sender, amount, state, ${MAY_MOVE('$3')} as may_move
  from arrivals
  where till = $1
    and transaction = any ($2::text[])
  order by transaction, log_index
  for update`)

const PUT = statement(`
  update arrivals a
  set log_index = m.log_index,
      updated_at = now()
  from unnest($1::text[], $2::int[]) as m (id, log_index)
  where a.id = m.id`)

/** The lowest place that the column takes. */
const NOWHERE = -(2 ** 31)

type Move = { readonly id: string; readonly logIndex: number }

type Shown = {
  readonly transfers: readonly Transfer[]
  readonly mayMoveFrom: bigint
  /** What is not shown counts as gone. Otherwise it only makes room. */
  readonly drops: boolean
}

/**
 * What is shown of transactions that were mined again takes its arrivals along, with their state. What is not shown of them any more goes aside. Returns
 * what had gone back, or was on its way, and went aside now: it may have come in blocks so old that no scan would miss it there.
 */
export async function followMoved(
  tx: Transaction,
  till: string,
  { transfers, mayMoveFrom, drops }: Shown,
): Promise<readonly string[]> {
  const { rows: moved } = await tx.query(MOVED, [
    till,
    transfers.map(({ transaction }) => transaction),
    transfers.map(({ logIndex }) => logIndex),
    transfers.map(({ sender }) => sender),
    transfers.map(({ amount }) => amount.toString()),
  ])
  if (moved.length === 0) return []
  const transactions = moved.map(({ transaction }) => transaction)
  const { rows } = await tx.query(KNOWN, [till, transactions, mayMoveFrom.toString()])
  const shownIn = Map.groupBy(transfers, ({ transaction }) => transaction)
  const known = [...Map.groupBy(rows, ({ transaction }) => transaction)]
  const moves = known.flatMap(([transaction, arrivals]) => movesOf(arrivals, shownIn.get(transaction)!, drops))
  if (moves.length === 0) return []
  const ids = moves.map(({ id }) => id)
  // To places that nothing has first: one may go where another one was.
  await tx.query(PUT, [ids, moves.map((_, at) => NOWHERE + at)])
  await tx.query(PUT, [ids, moves.map(({ logIndex }) => logIndex)])
  const aside = new Set(moves.filter(({ logIndex }) => logIndex < 0).map(({ id }) => id))
  return rows.filter(({ id, state }) => aside.has(id) && WENT_BACK.includes(state)).map(({ id }) => id)
}

const WENT_BACK: readonly ArrivalState[] = ['refunding', 'refunded']

/** All that is known of a transaction, and all that the chain shows of it. */
function movesOf(known: readonly Known[], shown: readonly Transfer[], drops: boolean): readonly Move[] {
  const taken = new Set(shown.map(({ logIndex }) => logIndex))
  const held = new Set(known.filter(({ may_move }) => !may_move).map(({ log_index }) => log_index))
  const free = shown.filter(({ logIndex }) => !held.has(logIndex))
  const places = Map.groupBy(free, ({ sender, amount }) => lookOf(sender, amount))
  let lowest = Math.min(0, known[0]!.log_index)
  const moves: Move[] = []
  for (const [look, alike] of Map.groupBy(known, ({ sender, amount }) => lookOf(sender, amount))) {
    const movable = alike.filter(({ may_move }) => may_move)
    const placed = placesOf(movable, places.get(look)?.map(({ logIndex }) => logIndex) ?? [], drops)
    for (const one of movable) {
      const { id, log_index } = one
      const mayStay = isAside(one) || !(drops || taken.has(log_index))
      const logIndex = placed.get(id) ?? (mayStay ? log_index : --lowest)
      if (logIndex !== log_index) moves.push({ id, logIndex })
    }
  }
  return moves
}

const lookOf = (sender: Address, amount: bigint | string) => `${sender.toLowerCase()} ${amount}`
const isAside = ({ log_index }: Known) => log_index < 0

/** Nothing was given for them yet: as long as the chain shows them they may buy, or go back. */
const LOOSE: readonly ArrivalState[] = ['unclaimed', 'orphaned', 'dust', 'dropped']

/** Of arrivals that look the same, in their order: which of these places each takes, as far as there are some. */
function placesOf(alike: readonly Known[], shown: readonly number[], drops: boolean): ReadonlyMap<string, number> {
  const free = new Set(shown.toSorted((one, other) => one - other))
  const there = alike.filter((one) => !isAside(one))
  // Where there are too few, those come first for which something was given, wherever they stood: else what went back is missing, and its twin goes back as well.
  const isLoose = ({ state, log_index }: Known) =>
    LOOSE.includes(state) && (drops || state === 'dropped' || !free.has(log_index))
  const rank = (one: Known) => (isLoose(one) ? 4 : 0) + (free.has(one.log_index) ? 0 : 2) + (isAside(one) ? 1 : 0)
  const chosen = new Set(alike.toSorted((one, other) => rank(one) - rank(other)).slice(0, free.size))
  const taken = new Map<string, number>()
  // As many as before: only what stands before them has changed. Otherwise those that are still in their places stay.
  if (there.length !== free.size)
    for (const { id, log_index } of chosen) if (free.delete(log_index)) taken.set(id, log_index)
  const movers = [...there, ...alike.filter(isAside)].filter((one) => chosen.has(one) && !taken.has(one.id))
  for (const [at, place] of [...free].entries()) if (movers[at]) taken.set(movers[at].id, place)
  return taken
}
