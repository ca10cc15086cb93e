import { cachedValue } from '../base/cached-read.ts'
import type { Clock } from '../base/clock.ts'
import { formatUsd, type Usd, usd } from '../base/money.ts'
import { whenThere } from '../base/when-there.ts'
import type { Database, Queryable } from './db.ts'
import { type Doer, recordDeeds } from './deeds.ts'
import { statement } from './statement.ts'
import { assertVersion } from './version.ts'

/** A good without a shelf, and what it costs unless somebody says otherwise. */
export type PricedGood = { readonly good: string; readonly usual: Usd }

/** What goods without a shelf cost: the program's own price, or the one that an operator has set. */
export type GoodPrices = {
  /** At most two seconds old, on every replica. */
  now(good: PricedGood): Usd | Promise<Usd>
}

/** A new price for a good; null is the usual one again. */
export type GoodPriceChange = PricedGood & { readonly price: Usd | null }

const CACHE_MS = 2_000

const ALL = statement<{ good: string; amount: string }>(`
  select good, amount
  from good_prices`)

export function createGoodPrices(db: Database, clock: Clock): GoodPrices {
  const recent = cachedValue(clock, CACHE_MS, () => readGoodPrices(db))
  return {
    now: ({ good, usual }) => whenThere(recent(), (prices) => prices.get(good) ?? usual),
  }
}

/** Only what operators have set. */
export async function readGoodPrices(queryable: Queryable): Promise<ReadonlyMap<string, Usd>> {
  const { rows } = await queryable.query(ALL)
  return new Map(rows.map(({ good, amount }) => [good, usd(BigInt(amount))]))
}

// The row is made first, with the price that holds, so that two who change it at once take turns.
const PREPARE = statement(`
  insert into good_prices (good, amount)
  select good, usual
  from unnest($1::text[], $2::numeric[]) as g (good, usual)
  order by good
  on conflict (good) do nothing`)

const LOCK = statement<{ good: string; amount: string }>(`
  select good, amount
  from good_prices
  where good = any ($1::text[])
  order by good
  for update`)

const SET = statement(`
  update good_prices p
  set amount = g.amount
  from unnest($1::text[], $2::numeric[]) as g (good, amount)
  where p.good = g.good`)

const FORGET = statement(`
  delete from good_prices
  where good = any ($1::text[])`)

/** All or none, each with its deed. Returns the goods whose price is another one now. */
export async function changeGoodPrices(
  db: Database,
  doer: Doer,
  changes: readonly GoodPriceChange[],
  ifMatch?: string,
): Promise<readonly string[]> {
  const goods = changes.map(({ good }) => good)
  return db.transaction(async (tx) => {
    await tx.query(PREPARE, [goods, changes.map(({ usual }) => usual.toString())])
    const { rows } = await tx.query(LOCK, [goods])
    const before = new Map(rows.map(({ good, amount }) => [good, usd(BigInt(amount))]))
    const [only] = before.values()
    if (only !== undefined) assertVersion(ifMatch, { price: formatUsd(only) })
    const moved = changes
      .map(({ good, usual, price }) => ({ good, from: before.get(good)!, to: price ?? usual }))
      .filter(({ from, to }) => from !== to)
    await tx.query(SET, [moved.map(({ good }) => good), moved.map(({ to }) => to.toString())])
    await tx.query(FORGET, [changes.filter(({ price }) => price === null).map(({ good }) => good)])
    await recordDeeds(
      tx,
      doer,
      moved.map(({ good, from, to }) => ({
        deed: 'price.changed',
        about: { kind: 'good', id: good },
        before: { price: formatUsd(from) },
        after: { price: formatUsd(to) },
      })),
    )
    return moved.map(({ good }) => good)
  })
}
