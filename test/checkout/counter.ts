import assert from 'node:assert/strict'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import { parseUsd } from '../../src/base/money.ts'
import { invocation } from '../../src/chain/act.ts'
import type { RailName } from '../../src/domain/rail.ts'
import type { TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'

/** A paid answer, whatever it says. */
export type Said = {
  readonly code?: string
  readonly detail?: string
  readonly orderId: string
  readonly status: string
  readonly payer: string
  readonly paymentTx: string | null
  readonly statusUrl: string
  readonly nfts: readonly { readonly contract: `0x${string}`; readonly tokenId: string }[]
  readonly payment: { readonly taken: boolean | 'unknown' }
  readonly retry: { readonly action: string; readonly statusUrl: string | null }
  readonly refund: { readonly status: string; readonly transaction: string; readonly amount: string } | null
}

export async function said(response: Response): Promise<Said> {
  return (await response.json()) as Said
}

/** Status and code in one, which is what most refusals are judged by. */
export async function verdict(response: Response): Promise<readonly [number, string | undefined]> {
  return [response.status, (await said(response)).code]
}

/** What an unpaid or refused call may never leave behind. */
export async function orderCount({ store }: Pick<TestShop, 'store'>): Promise<number> {
  const { rows } = await store.db.query<{ n: number }>('select count(*)::int as n from orders')
  return rows[0]!.n
}

/** The purchase when nothing more will happen to it. */
export async function ended({ url }: Pick<TestShop, 'url'>, rail: RailName, reference: string): Promise<Said> {
  const address = `${url}/agentic/${rail}/purchases/${reference}`
  await until(async () => (await fetch(address)).status === 200)
  return said(await fetch(address))
}

/** Another process of the same shop, which does not keep its callers waiting: where to ask when 202 is the answer that is expected. */
export async function hastyReplica(shop: TestShop): Promise<string> {
  const { url } = await shop.replica({
    withoutWorker: true,
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 400 } }),
  })
  return url
}

/** Real time, moved by hand: what sleeps still wakes. */
export function movableClock(offset = 0): Clock & { move(ms: number): void } {
  return {
    now: () => systemClock.now() + offset,
    sleep: systemClock.sleep,
    move(ms) {
      offset += ms
    },
  }
}

/** The lot manager's own act: a new lot, or new terms of an old one. */
export async function setLot(
  { world }: Pick<TestShop, 'world'>,
  saleId: number,
  { price, supply, closesAt = 0n }: { price: string; supply: bigint; closesAt?: bigint },
): Promise<void> {
  const terms = { name: `Lot ${saleId}`, uri: 'data:,', unitPrice: parseUsd(price), supply, opensAt: 0n, closesAt }
  await world.deployer.act(invocation(world.contracts.sale, saleLots.abi, 'setLot', [BigInt(saleId), terms]))
}

/** A 402 that keeps its promise: a fresh challenge, nothing taken, no order. */
export async function assertFree402(shop: TestShop, response: Response, code: string, orders: number): Promise<void> {
  const body = await said(response)
  assert.deepEqual([response.status, body.code, body.payment.taken], [402, code, false])
  assert.ok(response.headers.get('payment-required') ?? response.headers.get('www-authenticate'))
  assert.equal(await orderCount(shop), orders)
}
