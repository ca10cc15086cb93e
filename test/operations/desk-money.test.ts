import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { fundedWallet, mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { asOperator, type Bought } from './desk.ts'

// Money, funnel, wallets, webhooks and the log as the console reads them, over two replicas, compared with store and chain.

type Rail = 'x402' | 'mpp'
type Json = Record<string, unknown>

describe('the books of the desk', () => {
  let shop: TestShop
  let other: string
  let buyer: PrivateKeyAccount
  let isChainUp = true
  const payers = new Map<Rail, Pay>()
  const bought: Bought[] = []

  before(async () => {
    shop = await startShop({
      env: { SUTLER_WEBHOOK_LOOPBACK: 'true' },
      wrapTransport: (_chainId, transport) => async (request) => {
        if (!isChainUp) throw new Error('the chain is down')
        return transport(request)
      },
    })
    other = (await shop.replica()).url
    buyer = await fundedWallet(shop)
    payers.set('x402', x402Payer(buyer))
    payers.set('mpp', mppPayer(shop, buyer, 'pull'))
    for (const rail of ['x402', 'mpp'] as const) {
      bought.push(await buy(rail, `/shop/${rail}/buy`, { itemId: 'keys:5', quantity: 1, nickname: 'Demo' }))
      bought.push(await buy(rail, `/agentic/${rail}/buy`, { saleId: 392, quantity: 2, beneficiary: buyer.address }))
    }
    await until(async () => (await named()).includes('Banner Fragment'))
  })
  after(() => shop.stop())

  const named = async () =>
    (await shop.store.db.query<{ name: string }>('select name from shelf_names')).rows.map(({ name }) => name)

  async function buy(rail: Rail, path: string, body: Json, status = 200): Promise<Bought> {
    const response = await payers.get(rail)!(shop.url + path, post(body))
    assert.equal(response.status, status, await response.clone().text())
    return (await response.json()) as Bought
  }

  async function ask<Answer = Json>(path: string, init?: RequestInit, status = 200): Promise<Answer> {
    const response = await asOperator(shop, path, init)
    assert.equal(response.status, status, `${path}: ${await response.clone().text()}`)
    return (await response.json()) as Answer
  }

  type Row = { key: string; title: string; protocol: Rail; currency: string; gross: string; orders: number }

  test('money by day, rail and good is the sum of the orders themselves', async () => {
    verifies('D17.23')
    const today = new Date().toISOString().slice(0, 10)
    const days = (await ask<{ rows: Row[] }>('/operator/money')).rows
    assert.deepEqual(
      days.map(({ key, protocol, currency, gross, orders }) => [key, protocol, currency, gross, orders]),
      [
        [today, 'mpp', 'pathUSD', '2.00', 2],
        [today, 'x402', 'USDC', '2.00', 2],
      ],
    )
    const rails = (await ask<{ rows: Row[] }>('/operator/money?by=rail')).rows
    assert.deepEqual(
      rails.map(({ key, gross }) => [key, gross]),
      [
        ['mpp', '2.00'],
        ['x402', '2.00'],
      ],
    )
    const goods = (await ask<{ rows: Row[] }>('/operator/money?by=good')).rows
    assert.deepEqual(goods.map(({ title, protocol, gross }) => [title, protocol, gross]).sort(), [
      ['Banner Fragment', 'mpp', '0.50'],
      ['Banner Fragment', 'x402', '0.50'],
      ['Five Keys', 'mpp', '1.50'],
      ['Five Keys', 'x402', '1.50'],
    ])
    const earlier = await ask<{ rows: Row[] }>('/operator/money?from=2020-01-01T00:00:00Z&to=2020-02-01T00:00:00Z')
    assert.deepEqual(earlier.rows, [])
    await ask('/operator/money?from=2020-01-01T00:00:00Z&to=2026-02-01T00:00:00Z', {}, 400)
    const csv = await (await asOperator(shop, '/operator/money?by=good&format=csv')).text()
    assert.match(
      csv,
      /^"key","title","protocol","network","currency","orders","gross","refunds","refunded","net"\r\n"saleLot\/392","Banner Fragment","mpp",/,
    )
  })

  test('the difference to the chain is told with its block and its time', async () => {
    await ask('/operator/reconcile', post({}))
    const { accounts, held, liabilities } = await ask<{ accounts: Json[]; held: Json[]; liabilities: Json[] }>(
      '/operator/money',
    )
    assert.deepEqual(accounts.map(({ difference, currency }) => [difference, currency]).sort(), [
      ['0.00', 'USDC'],
      ['0.00', 'pathUSD'],
    ])
    for (const { asOfBlock, at } of accounts) assert.ok(Number(asOfBlock) > 0 && Date.parse(String(at)) > 0)
    assert.deepEqual([held, liabilities], [[], []])
  })

  test('what every replica asks and refuses is in one funnel, by code', async () => {
    type Funnel = {
      steps: { step: string; count: number }[]
      refusals: { code: string; count: number; series: number[]; example: string }[]
      at: string[]
    }
    const read = (more = '') => ask<Funnel>(`/operator/funnel?window=24h${more}`)
    const before = await read('&surface=shop')
    const asked = ({ steps }: Funnel) => steps.find(({ step }) => step === 'asked')!.count
    const refused = ({ refusals }: Funnel, code: string) => refusals.find((one) => one.code === code)?.count ?? 0
    const body = post({ itemId: 'keys:5', quantity: 1, nickname: 'Demo' })
    for (const url of [shop.url, other]) {
      assert.equal((await fetch(`${url}/shop/x402/buy`, body)).status, 402)
      assert.equal(
        (await fetch(`${url}/shop/x402/buy`, post({ itemId: 'phantom-blade:1', quantity: 1, nickname: 'Demo' })))
          .status,
        409,
      )
    }
    await until(async () => refused(await read('&surface=shop'), 'item_unavailable') >= 2)
    const now = await read('&surface=shop&rail=x402')
    assert.equal(asked(now), asked(before) - asked(await read('&surface=shop&rail=mpp')) + 2)
    const soldOut = now.refusals.find(({ code }) => code === 'item_unavailable')!
    assert.equal(soldOut.count, 2)
    assert.equal(soldOut.series.length, 24)
    assert.equal(soldOut.series.at(-1)! + soldOut.series.at(-2)!, 2)
    assert.match(soldOut.example, /out of stock/i)
    assert.equal(now.at.length, 24)
    assert.deepEqual((await read('&surface=craft')).refusals, [])
  })

  type Wallet = {
    role: string
    chainId: number
    what: string
    balance: string
    currency: string
    roles: Json[]
    asOf: string
    isLow: boolean
  }

  test('wallets have what the chain says, and the last that was seen while it is silent', async () => {
    verifies('D17.23')
    await shop.service.operations.lookout.look()
    const { wallets } = await ask<{ wallets: Wallet[] }>('/operator/wallets')
    const till = wallets.find(
      ({ role, what, currency }) => role === 'treasury' && what === 'money' && currency === 'USDC',
    )!
    const minter = wallets.find(({ role }) => role === 'minter')!
    assert.deepEqual(minter.roles, [{ name: 'MINTER_ROLE', has: true }])
    assert.equal(minter.currency, 'ETH')
    const address = (minter as unknown as { address: `0x${string}` }).address
    const wei = BigInt(
      (await shop.chains.native.request({ method: 'eth_getBalance', params: [address, 'latest'] })) as string,
    )
    assert.equal(minter.balance, `${wei / 10n ** 18n}.${((wei % 10n ** 18n) / 10n ** 12n).toString().padStart(6, '0')}`)
    const treasuryAddress = (till as unknown as { address: `0x${string}` }).address
    const float = await erc20Balance(shop.chains.native, shop.config.x402!.asset, treasuryAddress)
    assert.equal(Number(till.balance), Number(float) / 1e6)
    isChainUp = false
    try {
      await shop.service.operations.lookout.look()
      const silent = await ask<{ wallets: Wallet[] }>('/operator/wallets')
      assert.deepEqual(
        silent.wallets.map(({ role, balance, asOf }) => [role, balance, asOf]),
        wallets.map(({ role, balance, asOf }) => [role, balance, asOf]),
      )
      for (const path of ['attention', 'summary', 'money', 'funnel', 'orders', 'webhooks', 'search?q=Demo'])
        await ask(`/operator/${path}`)
    } finally {
      isChainUp = true
    }
  })

  test('a webhook is tried out, and one message is sent again', async () => {
    const heard: { id: string; type: string }[] = []
    const server = createServer((request, response) => {
      void textOf(request).then((text) => {
        heard.push({ id: String(request.headers['webhook-id']), type: (JSON.parse(text) as { type: string }).type })
        response.writeHead(202).end('thanks')
      })
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
      const { id } = await ask<{ id: string }>(
        '/operator/webhooks',
        post({ url, eventTypes: ['order.confirmed'] }),
        201,
      )
      const tried = await ask<{ status: number; text: string; ms: number }>(`/operator/webhooks/${id}/test`, post({}))
      assert.deepEqual([tried.status, tried.text], [202, 'thanks'])
      assert.deepEqual(
        heard.map(({ type }) => type),
        ['webhook.test'],
      )
      await buy('x402', '/shop/x402/buy', { itemId: 'keys:5', quantity: 1, nickname: 'Brin' })
      await until(() => heard.length === 2)
      type Deliveries = { deliveries: { position: string; state: string; attempts: number }[]; next: string | null }
      const log = () => ask<Deliveries>(`/operator/webhooks/${id}/deliveries`)
      await until(async () => (await log()).deliveries[0]?.state === 'delivered')
      const [one] = (await log()).deliveries
      const { queued } = await ask<{ queued: number }>(
        `/operator/webhooks/${id}/deliveries/${one!.position}/resend`,
        post({}),
        202,
      )
      assert.equal(queued, 1)
      await until(() => heard.length === 3)
      assert.equal(heard[2]!.id, heard[1]!.id, 'a repetition is known by its id')
      const { webhooks } = await ask<{ webhooks: Json[] }>('/operator/webhooks')
      assert.deepEqual([webhooks[0]!['dead'], 'secret' in webhooks[0]!], [0, false])
      await ask('/operator/webhooks/whk_none/test', post({}), 404)
      await ask(`/operator/webhooks/${id}`, { method: 'DELETE' })
    } finally {
      server.close()
    }
  })

  test('the log is read from its end, by type and by what it is about', async () => {
    type Log = { events: { position: string; type: string; subject: string }[]; next: string | null }
    const { orderId } = bought[0]!
    const all = await ask<Log>('/events?last=1000')
    const positions = all.events.map(({ position }) => Number(position))
    assert.deepEqual(
      positions,
      positions.toSorted((a, b) => b - a),
    )
    const paged: string[] = []
    for (let before: string | null = ''; before !== null; ) {
      const page: Log = await ask<Log>(
        `/events?last=3&types=order.confirmed,payment.settled${before === '' ? '' : `&before=${before}`}`,
      )
      assert.ok(page.events.length <= 3)
      paged.push(...page.events.map(({ position }) => position))
      before = page.next
    }
    const wanted = all.events.filter(({ type }) => type === 'order.confirmed' || type === 'payment.settled')
    assert.deepEqual(
      paged,
      wanted.map(({ position }) => position),
    )
    const about = await ask<Log>(`/events?last=100&subject=${orderId}`)
    assert.deepEqual(
      about.events.map(({ type }) => type),
      ['order.confirmed', 'payment.settled', 'order.created'],
    )
    const forwards = await ask<Log>(`/events?subject=${orderId}&types=payment.settled&limit=1000`)
    assert.deepEqual(
      forwards.events.map(({ subject, type }) => [subject, type]),
      [[orderId, 'payment.settled']],
    )
    await ask('/events?types=order.eaten&last=1', {}, 400)
  })
})

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
