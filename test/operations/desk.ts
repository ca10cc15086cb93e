import type { PrivateKeyAccount } from 'viem/accounts'
import type { Hash } from '../../src/base/address.ts'
import type { Config } from '../../src/config/config.ts'
import { type AccountReport, reconcile } from '../../src/ledger/reconcile.ts'
import type { ReconcilePolicy } from '../../src/ledger/reconcile-context.ts'
import { post } from '../support/buyers.ts'
import type { RailUnderTest } from '../support/credentials.ts'
import type { TestShop } from '../support/shop.ts'

export type Bought = {
  readonly orderId: string
  readonly status: string
  readonly paymentTx: Hash
  readonly receipt: string
  readonly statusUrl: string
  readonly refund: {
    readonly status: string
    readonly reason: string
    readonly to: string
    readonly transaction: Hash
  } | null
  readonly nfts: readonly { readonly contract: `0x${string}`; readonly tokenId: string }[]
}

export type Sold = { readonly response: Response; readonly body: Bought; readonly credential: string }

/** Whoever sold on the original of this store is not waited for as long as usual. */
export function impatiently(config: Config): Config {
  return { ...config, limits: { ...config.limits, leaseSeconds: 1 } }
}

/** A lot for a quarter, paid the rail's way. */
export const LOT = { saleId: 392 }
export const LOT_PRICE = 250_000n
/** Takes the money, and then its mint fails. */
export const CURSED_LOT = { saleId: 399 }
export const CURSED_PRICE = 500_000n

export function buyUrl(shop: TestShop, rail: RailUnderTest): string {
  return `${shop.url}/agentic/${rail.rail}/buy`
}

/** Pays for a lot without buying it yet: what a client holds before its second call. */
export async function payFor(shop: TestShop, rail: RailUnderTest, buyer: PrivateKeyAccount, lot = LOT) {
  const request = { ...lot, beneficiary: buyer.address }
  const credential = await rail.pay(shop, buyer, await fetch(buyUrl(shop, rail), post(request)))
  return { request, credential }
}

export async function buy(shop: TestShop, rail: RailUnderTest, buyer: PrivateKeyAccount, lot = LOT): Promise<Sold> {
  const { request, credential } = await payFor(shop, rail, buyer, lot)
  const response = await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  return { response, body: (await response.clone().json()) as Bought, credential }
}

/** A call with the operator's token. */
export function asOperator(
  { url, config }: Pick<TestShop, 'url' | 'config'>,
  path: string,
  init: RequestInit = {},
): Promise<Response> {
  const headers = { ...init.headers, authorization: `Bearer ${config.operatorToken!.reveal()}` }
  return fetch(url + path, { ...init, headers })
}

export async function status(url: string): Promise<Bought> {
  return (await (await fetch(url)).json()) as Bought
}

/** Money without a purchase goes back at once. */
export const AT_ONCE = { returnAfterSeconds: 0 }
/** Money without a purchase goes back tomorrow. */
export const TOMORROW = { returnAfterSeconds: 86_400 }

/** Compares the books of one rail with the chain. */
export async function reconcileRail(
  { service }: Pick<TestShop, 'service'>,
  rail: RailUnderTest,
  policy: Partial<ReconcilePolicy> = {},
): Promise<AccountReport> {
  const { reconcileContext } = service.operations
  const accounts = reconcileContext.accounts.filter((account) => account.rail.name === rail.rail)
  const [report] = await reconcile({ ...reconcileContext, accounts, policy: { ...reconcileContext.policy, ...policy } })
  return report!
}

/** As if the time of an order's payment were long over, and it had been settled as long ago. */
export async function letRunOut({ store }: Pick<TestShop, 'store'>, orderId: string): Promise<void> {
  const ago = `now() - interval '61 minutes'`
  await store.db.query(`update orders set expires_at = ${ago}, settled_at = ${ago} where id = $1`, [orderId])
}

export type EventRow = {
  readonly subject: string
  readonly sequence: number
  readonly type: string
  readonly data: Record<string, unknown>
}

export async function eventsOf({ store }: Pick<TestShop, 'store'>, subject: string): Promise<readonly EventRow[]> {
  const { rows } = await store.db.query<EventRow>(
    'select subject, sequence, type, data from events where subject = $1 order by sequence',
    [subject],
  )
  return rows
}
