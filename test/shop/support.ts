import assert from 'node:assert/strict'
import type { PrivateKeyAccount } from 'viem/accounts'
import { systemRandom } from '../../src/base/id.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { fundedWallet, mppPayer, type Pay, x402Payer } from '../support/buyers.ts'
import type { TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'

/** Every way to pay, each with the unmodified client of its protocol. */
export type Way = {
  readonly name: string
  readonly rail: 'x402' | 'mpp'
  readonly payer: (shop: TestShop, account: PrivateKeyAccount) => Pay
}

export const ways: readonly Way[] = [
  { name: 'x402', rail: 'x402', payer: (_shop, account) => x402Payer(account) },
  { name: 'mpp pull', rail: 'mpp', payer: (shop, account) => mppPayer(shop, account, 'pull') },
  { name: 'mpp push', rail: 'mpp', payer: (shop, account) => mppPayer(shop, account, 'push') },
]

export type ShopPurchase = {
  readonly orderId: string
  readonly protocol: 'x402' | 'mpp'
  readonly status: string
  readonly itemId: string
  readonly quantity: number
  readonly recipient: { readonly kind: string; readonly value: string }
  readonly payer: string
  readonly paymentTx: string
  readonly price: { readonly amount: string; readonly currency: string; readonly atomic: string }
  readonly delivery: { readonly state: string; readonly reference: string | null; readonly deliveredAt: string | null }
  readonly statusUrl: string
  readonly refund: { readonly status: string; readonly transaction: string | null } | null
  readonly player?: { readonly nickname: string } | null
  readonly code?: string
}

export type Refusal = {
  readonly code: string
  readonly detail: string
  readonly payment: { readonly taken: boolean | 'unknown' }
  readonly orderId?: string
  readonly refund?: { readonly status: string }
}

let names = 0

/** A wallet with money, and a player who is linked to it. */
export async function linkedBuyer(shop: TestShop): Promise<{ account: PrivateKeyAccount; nickname: string }> {
  const account = await fundedWallet(shop)
  const nickname = `buyer ${++names}`
  await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname, address: account.address })
  return { account, nickname }
}

export type Grant = {
  readonly orderId: string
  readonly nickname: string
  readonly itemId: string
  readonly quantity: number
}

/** What the embedded game has given, read from its own ledger. */
export async function ledger({ store }: TestShop, itemId?: string): Promise<readonly Grant[]> {
  const { rows } = await store.db.query<Grant>(
    `select l.effect_key as "orderId", p.nickname, l.item_id as "itemId", l.quantity::integer as quantity
     from inventory_ledger l
     join players p on p.id = l.player_id
     where $1::text is null or l.item_id = $1
     order by l.granted_at`,
    [itemId ?? null],
  )
  return rows
}

export async function addItem(
  { store }: TestShop,
  item: { id: string; price?: string; stock?: number; limitPerPlayer?: number; levelMin?: number },
): Promise<void> {
  const { id, price = '100000', stock = null, limitPerPlayer = null, levelMin = 1 } = item
  await store.db.query(
    `insert into items (id, name, description, price, stock, limit_per_player, level_min)
     values ($1, $1, $1, $2, $3, $4, $5)`,
    [id, price, stock, limitPerPlayer, levelMin],
  )
}

export async function json<Body>(response: Response, status: number): Promise<Body> {
  const body = await response.text()
  assert.equal(response.status, status, body)
  return JSON.parse(body) as Body
}

/** The order's end, read by its order id until nothing more will happen. */
export async function endOf(shop: TestShop, rail: 'x402' | 'mpp', reference: string): Promise<ShopPurchase> {
  const status = () => fetch(`${shop.url}/shop/${rail}/purchases/${reference}`)
  await until(async () => (await status()).status === 200)
  return (await (await status()).json()) as ShopPurchase
}
