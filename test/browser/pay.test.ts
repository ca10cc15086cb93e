import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { giveGas, giveToken } from '../../src/sandbox/world.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { openContext, sharedBrowser } from './chromium.ts'
import { type ModuleServer, serveModules } from './modules.ts'

const chromium = sharedBrowser()

/** What a page can see of an answer. */
type Seen = { readonly status: number; readonly headers: Record<string, string>; readonly body: Record<string, never> }

describe('H-13: an agent in a web page of another origin', { skip: chromium.skip }, () => {
  let shop: TestShop
  let modules: ModuleServer
  let browser: Browser
  let page: Page
  const asked: string[] = []
  before(async () => {
    ;[shop, modules, browser] = await Promise.all([startShop(), serveModules(), chromium.open()])
    page = await (await openContext(browser)).newPage()
    page.on('request', (request) => asked.push(request.url()))
    await page.goto(modules.origin)
  })
  after(async () => {
    await chromium.leave()
    await modules.stop()
    await shop.stop()
  })

  async function wallet() {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    await giveGas(shop.chains.native, address, 10n ** 18n)
    await giveToken(shop.chains.native, shop.config.x402!.asset, address, 10n ** 9n)
    await giveToken(shop.chains.tempo, shop.config.mpp!.currency.address, address, 10n ** 9n)
    return { key, address }
  }

  async function assertOwned({ body }: Seen, owner: string): Promise<void> {
    const { nfts } = body as unknown as { nfts: { contract: `0x${string}`; tokenId: string }[] }
    const found = await nftOwner(shop.chains.native, nfts[0]!.contract, nfts[0]!.tokenId)
    assert.equal(found.toLowerCase(), owner.toLowerCase())
  }

  test('reads the 402 itself: its challenge is exposed on both protocols', async () => {
    const seen = await page.evaluate(async (url) => {
      const answers = await Promise.all(
        ['x402', 'mpp'].map((rail) => fetch(`${url}/agentic/${rail}/buy`, { method: 'POST' })),
      )
      return answers.map(({ status, headers }) => [
        status,
        headers.has('payment-required'),
        headers.has('www-authenticate'),
        headers.has('ratelimit'),
      ])
    }, shop.url)
    assert.deepEqual(seen, [
      [402, true, false, true],
      [402, false, true, true],
    ])
  })

  test('buys with the unmodified @x402/fetch, and the NFT is on the chain', async () => {
    const { key, address } = await wallet()
    const seen = await page.evaluate(
      async ({ url, key, address }): Promise<Seen> => {
        const load = (name: string) => import(`/package/${name}`)
        const [{ wrapFetchWithPayment, x402Client }, { ExactEvmScheme }, { privateKeyToAccount }] = await Promise.all([
          load('@x402/fetch'),
          load('@x402/evm/exact/client'),
          load('viem/accounts'),
        ])
        const client = new x402Client().register('eip155:*', new ExactEvmScheme(privateKeyToAccount(key)))
        client.setSpendControls({ maxAmountPerPayment: '$100' })
        const pay = wrapFetchWithPayment(fetch, client)
        const response = await pay(`${url}/agentic/x402/buy`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ saleId: 392, beneficiary: address }),
        })
        return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.json() }
      },
      { url: shop.url, key, address },
    )
    assert.equal(seen.status, 200)
    const receipt = JSON.parse(Buffer.from(seen.headers['payment-response']!, 'base64').toString())
    assert.equal(receipt.success, true)
    assert.match(seen.headers['x-flow-id']!, /^flow_/)
    await assertOwned(seen, address)
  })

  test('buys with the unmodified mppx client, and the NFT is on the chain', async () => {
    const { key, address } = await wallet()
    await page.exposeFunction('askTempo', (request: { method: string }) => shop.chains.tempo.request(request))
    const seen = await page.evaluate(
      async ({ url, key, address }): Promise<Seen> => {
        const load = (name: string) => import(`/package/${name}`)
        const [{ Mppx, tempo }, { createClient, custom }, { tempoModerato }, { privateKeyToAccount }] =
          await Promise.all([load('mppx/client'), load('viem'), load('viem/tempo/chains'), load('viem/accounts')])
        const { askTempo } = globalThis as unknown as { askTempo: (request: unknown) => Promise<unknown> }
        const client = createClient({ chain: tempoModerato, transport: custom({ request: askTempo }) })
        const account = privateKeyToAccount(key)
        const mppx = Mppx.create({
          methods: [tempo({ account, mode: 'pull', getClient: () => client })],
          polyfill: false,
        })
        const response = await mppx.fetch(`${url}/agentic/mpp/buy`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ saleId: 392, beneficiary: address }),
        })
        return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.json() }
      },
      { url: shop.url, key, address },
    )
    assert.equal(seen.status, 200)
    assert.ok(seen.headers['payment-receipt'])
    await assertOwned(seen, address)
  })

  test('learns from an error whether it paid, and when to come back', async () => {
    const seen = await page.evaluate(async (url): Promise<Seen> => {
      const response = await fetch(`${url}/agentic/x402/buy`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'browser-key-1' },
        body: '{"saleId":999999,"beneficiary":"0x000000000000000000000000000000000000dEaD"}',
      })
      return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.json() }
    }, shop.url)
    const { code, payment } = seen.body as unknown as { code: string; payment: { taken: boolean } }
    assert.deepEqual([seen.status, code, payment.taken], [404, 'sale_not_found', false])
  })

  test('nothing was asked of any other machine', () => {
    const hosts = new Set(asked.map((url) => new URL(url).hostname))
    assert.deepEqual(hosts, new Set(['127.0.0.1', 'localhost']))
  })
})
