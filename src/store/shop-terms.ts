import type { Address } from '../base/address.ts'
import type { RailName } from '../domain/rail.ts'
import type { Queryable } from './db.ts'
import { statement } from './statement.ts'

/** What the shop asks money for on one rail: in what, where to, and under which name. */
export type ShopTerms = {
  readonly rail: RailName
  readonly network: string
  readonly asset: Address
  readonly payTo: Address
  /** The name that payments are bound to; null where the protocol has none. */
  readonly realm: string | null
  /** As catalogs show it. */
  readonly currency: string
}

const RECORD = statement(`
  insert into shop_terms (rail, network, asset, pay_to, realm, currency)
  values ($1, $2, $3, $4, $5, $6)
  on conflict (rail, network, asset, pay_to, realm) do update
  set last_used = now(),
      currency = excluded.currency`)

const LIST = statement<{
  rail: RailName
  network: string
  asset: Address
  pay_to: Address
  realm: string
  currency: string
}>(`
  select rail, network, asset, pay_to, realm, currency
  from shop_terms
  order by last_used desc`)

/** Written at each start: from then on it is known that the shop was paid there. */
export async function recordTerms(queryable: Queryable, terms: ShopTerms): Promise<void> {
  const { rail, network, asset, payTo, realm, currency } = terms
  await queryable.query(RECORD, [rail, network, asset, payTo, realm ?? '', currency])
}

/** Everything the shop ever asked for, newest first. */
export async function listTerms(queryable: Queryable): Promise<readonly ShopTerms[]> {
  const { rows } = await queryable.query(LIST)
  return rows.map(({ pay_to, realm, ...rest }) => ({ ...rest, payTo: pay_to, realm: realm === '' ? null : realm }))
}

const ASKED = statement<{ since: Date | null; ago_ms: number | null }>(`
  select min(first_used) as since,
         (extract(epoch from now() - min(first_used)) * 1000)::float8 as ago_ms
  from shop_terms
  where network = $1
    and lower(asset) = lower($2)
    and lower(pay_to) = lower($3)`)

/** Since when the shop has asked to be paid there, by the clock of the store, and how long ago that is by the same. Null: it never did. */
export async function askedSince(
  queryable: Queryable,
  { network, asset, payTo }: Pick<ShopTerms, 'network' | 'asset' | 'payTo'>,
): Promise<{ readonly at: number; readonly agoMs: number } | null> {
  const { since, ago_ms: agoMs } = (await queryable.query(ASKED, [network, asset, payTo])).rows[0]!
  return since && agoMs !== null ? { at: since.getTime(), agoMs } : null
}

/** What an asset on a network is called. */
export type Currencies = (network: string, asset: string) => string

/** What was never asked for is dollars all the same: everything the shop is paid in is. */
export async function readCurrencies(queryable: Queryable): Promise<Currencies> {
  const terms = await listTerms(queryable)
  const codes = new Map(
    terms.toReversed().map(({ network, asset, currency }) => [`${network}/${asset}`.toLowerCase(), currency]),
  )
  return (network, asset) => codes.get(`${network}/${asset}`.toLowerCase()) ?? 'USD'
}
