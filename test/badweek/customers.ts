import { setTimeout as pause } from 'node:timers/promises'
import type { PrivateKeyAccount } from 'viem/accounts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { type Flow, flows, transfers } from '../crash/flows.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { until } from '../support/until.ts'
import type { BadWorld } from './world.ts'

/** What became of one purchase, and who made it. */
export type Purchase = {
  readonly flow: Flow
  readonly buyer: PrivateKeyAccount
  /** Refused: by the shop's own word, before money. Repeated: bought by showing the same payment again. */
  outcome: 'under way' | 'bought' | 'repeated' | 'refused' | 'held'
  /** Calls that came to nothing on the way, or were answered by nobody who knows: when, and what each got instead. */
  readonly lost: { readonly at: number; readonly words: string }[]
  /** What the shop called it, as far as it said so. */
  orderId: string | null
}

const item = (rail: typeof x402UnderTest): Flow => ({
  name: `an item by ${rail.name}`,
  rail,
  path: `/shop/${rail.rail}/buy`,
  body: () => ({ itemId: 'gems:100', nickname: 'Wren' }),
  // For a player of Wren's level.
  price: 500_000n,
  // The game knows orders and no wallets: which of them are a buyer's, the buyer was told.
  delivered: async (world, _buyer, orderId) =>
    (world as BadWorld).studio.deliveries().filter((delivery) => delivery.orderId === orderId).length,
  ends: 'delivered',
})

const wares: readonly Flow[] = [
  ...flows.filter(({ ends, rail }) => ends === 'delivered' && rail.name !== 'mpp push'),
  item(x402UnderTest),
  item(mppPullUnderTest),
]

/** Customers with stock clients who buy one thing after the other, through the proxy. */
export function openDoors(world: BadWorld) {
  const purchases: Purchase[] = []
  let isOver = false
  const loops = [0, 1].map(async (first) => {
    for (let n = first; !isOver; n++) {
      const flow = wares[n % wares.length]!
      const purchase: Purchase = {
        flow,
        buyer: await fundedWallet(world),
        outcome: 'under way',
        lost: [],
        orderId: null,
      }
      purchases.push(purchase)
      await buy(world, purchase)
    }
  })
  return {
    purchases,
    async close() {
      isOver = true
      await Promise.all(loops)
    },
  }
}

/** The pace of a customer, which is part of the week: calls that are lost are counted. Nothing is waited for. */
const REPEAT_MS = 300

async function buy(world: BadWorld, purchase: Purchase): Promise<void> {
  const { flow, buyer } = purchase
  let paid: RequestInit | null = null
  const watched: typeof fetch = async (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has(flow.rail.header))
      paid = { method: 'POST', headers: Object.fromEntries(request.headers), body: await request.clone().text() }
    return fetch(request)
  }
  const client = flow.rail.rail === 'x402' ? x402Payer(buyer, watched) : mppPayer(world, buyer, 'pull', watched)
  const note = (orderId: string) => {
    purchase.orderId = orderId
  }
  let answer = await said(client(world.proxy.url() + flow.path, post(flow.body(buyer, undefined)!)), note)
  const count = () => {
    if (answer.startsWith('lost')) purchase.lost.push({ at: performance.now(), words: answer })
  }
  count()
  let outcome: Purchase['outcome'] = 'bought'
  while (paid !== null && (answer === 'again' || answer.startsWith('lost'))) {
    outcome = 'repeated'
    await pause(REPEAT_MS)
    answer = await said(fetch(world.proxy.url() + flow.path, paid), note)
    count()
  }
  purchase.outcome = answer === 'done' ? outcome : answer === 'held' ? 'held' : 'refused'
}

type Said = 'done' | 'again' | 'held' | 'refused' | `lost: ${string}`

/** `again`: the shop itself says to come back, or is still at it. `held`: it has forgotten, and a person decides. A 402 took nothing. */
async function said(call: Promise<Response>, note: (orderId: string) => void): Promise<Said> {
  const response = await call.catch((error: Error) => error)
  if (response instanceof Error) return `lost: ${response.message} ${String(response.cause ?? '')}`
  const body = (await response.json().catch(() => null)) as { code?: string; orderId?: string } | null
  if (body?.orderId?.startsWith('ord_')) note(body.orderId)
  if (body === null) return `lost: ${response.status} without a word`
  if (response.status === 200) return 'done'
  if (response.status === 202 || (response.status === 503 && body.code)) return 'again'
  if (response.status === 402) return 'refused'
  return response.status === 409 && body.code === 'payment_conflict' ? 'held' : `lost: ${response.status} ${body.code}`
}

export type Verdict = { readonly lost: bigint; readonly doubled: number }

/** By the chain, and by the game's own file: what each of them paid, got back and got. */
export async function judgeAll(world: BadWorld, purchases: readonly Purchase[]): Promise<Verdict> {
  let lost = 0n
  let doubled = 0
  for (const purchase of purchases) {
    const { flow, buyer } = purchase
    const till = flow.rail.rail === 'x402' ? world.config.x402!.payTo : world.config.mpp!.recipient
    const sum = (amounts: readonly bigint[]) => amounts.reduce((all, amount) => all + amount, 0n)
    const paid = sum(await transfers(world, flow.rail, buyer.address, till))
    const back = sum(await transfers(world, flow.rail, demoAddressOf('treasury'), buyer.address))
    const got = await flow.delivered(world, buyer, purchase.orderId)
    if (got > 1 || (got === 1 && back > 0n)) doubled++
    // What is held lies at the till, with its payer's name on it, until a person decides.
    if (purchase.outcome !== 'held' && paid - back > BigInt(got) * flow.price)
      lost += paid - back - BigInt(got) * flow.price
    if (paid < BigInt(got) * flow.price) lost += BigInt(got) * flow.price - paid
  }
  return { lost, doubled }
}

/** Money that waits for a person. */
export async function heldMoney({ store }: BadWorld): Promise<number> {
  return (await store.db.query(`select from transfers where state = 'held'`)).rowCount ?? 0
}

/** No trouble is open but what waits for a person. */
export async function isCalm({ store }: BadWorld): Promise<boolean> {
  const { rowCount } = await store.db.query(`select from troubles where ended_at is null and kind <> 'attention'`)
  return rowCount === 0
}

export async function nothingOpen({ store }: BadWorld): Promise<void> {
  await until(async () => (await store.db.query(`select from jobs where kind = 'order'`)).rowCount === 0)
}
