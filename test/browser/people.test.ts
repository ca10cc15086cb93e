import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { accessibilityFaults, isLookedAt, legibilityOf, looks } from './accessible.ts'
import { openContext, sharedBrowser } from './chromium.ts'

const chromium = sharedBrowser()

const HTML = { accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

let shop: TestShop
let order: { orderId: string; paymentTx: string }
before(async () => {
  shop = await startShop({ withSandboxRoutes: true })
  const buyer = await fundedWallet(shop)
  const bought = await x402Payer(buyer)(
    `${shop.url}/agentic/x402/buy`,
    post({ saleId: 392, beneficiary: buyer.address }),
  )
  order = (await bought.json()) as typeof order
})
after(() => shop.stop())

/** Addresses of every kind, the status that both forms have there, and what a person reads. */
const places = (): readonly (readonly [path: string, status: number, words: RegExp])[] => [
  ['/catalog', 200, /Banner Fragment.*0\.25 USDC/s],
  ['/shop/x402/offers', 200, /Five Keys.*1\.50 USDC/s],
  ['/agentic/mpp/offers', 200, /Initiate Pass/],
  ['/catalog/sale:392', 200, /A small piece of a large flag.*Buy with x402.*Buy with MPP/s],
  ['/catalog/shop:keys:5', 200, /Five keys for five chests/],
  ['/catalog/sale:398', 200, /cannot be bought now/],
  ['/catalog/sale:1', 404, /no sale:1/],
  ['/agentic/x402/buy', 402, /from 0\.25 USD.*Nothing was taken/s],
  ['/shop/mpp/buy?itemId=keys:5', 402, /MPP: pathUSD on tempo:42431/],
  ['/x402/cheap-health', 402, /0\.001 USD/],
  ['/craft/x402/burn', 405, /0\.001 USD/],
  [`/payments/${order.orderId}`, 200, /Paid and delivered.*Did money move\?\s*yes/s],
  [`/payments/${order.paymentTx}`, 200, /Paid and delivered/],
  [`/agentic/x402/purchases/${order.paymentTx}`, 200, /Paid and delivered/],
  ['/payments/nothing', 404, /No such payment is known here/],
  ['/nowhere', 404, /No such route.*GET \/catalog/s],
  ['/sandbox', 200, /Demo key.*fail_delivery/s],
  ['/craft/mpp/config', 200, /"version": "1\.1\.0"/],
]

test('D16.4: machines get JSON at every address, people a page; both forms have one status, and caches are told', async () => {
  verifies('D16.4')
  for (const [path, status] of places()) {
    const page = await fetch(shop.url + path, { headers: HTML })
    assert.deepEqual([page.status, page.headers.get('content-type')], [status, 'text/html; charset=utf-8'], path)
    assert.match(page.headers.get('content-security-policy')!, /^default-src 'none'/, path)
    for (const headers of [
      {},
      { accept: '*/*' },
      { accept: 'application/json' },
      { accept: 'application/json, text/html' },
    ]) {
      const plain = await fetch(shop.url + path, { headers })
      assert.deepEqual([plain.status, plain.headers.get('content-type')], [status, 'application/json'], path)
      await plain.json()
      for (const { headers } of [page, plain]) assert.match(headers.get('vary') ?? '', /(^|, )Accept$/, path)
    }
  }
})

test('documents stay files, whatever is accepted; a payment is answered as to a machine; what only posts is not shown a page', async () => {
  for (const path of ['/openapi.json', '/.well-known/x402', '/discovery/resources'])
    assert.match((await fetch(shop.url + path, { headers: HTML })).headers.get('content-type')!, /json/)
  const paid = await fetch(`${shop.url}/x402/cheap-health`, { headers: { ...HTML, 'payment-signature': 'e30=' } })
  assert.deepEqual([paid.status, paid.headers.get('content-type')], [400, 'application/json'])
  const posted = await fetch(`${shop.url}/agentic/x402/buy`, post({}, HTML))
  assert.deepEqual([posted.status, posted.headers.get('content-type')], [402, 'application/json'])
})

describe('pages on any address', { skip: chromium.skip }, () => {
  let browser: Browser
  before(async () => {
    browser = await chromium.open()
  })
  after(() => chromium.leave())

  async function open(path: string): Promise<{ page: Page; faults: string[] }> {
    const page = await (await openContext(browser)).newPage()
    const faults: string[] = []
    page.on('console', (message) => {
      // The browser itself says of a page of a 402 or 404 that it could not be loaded.
      if (message.type() !== 'log' && !message.text().startsWith('Failed to load resource')) faults.push(message.text())
    })
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('request', (request) => {
      if (!request.url().startsWith(shop.url) && !request.url().startsWith('data:'))
        faults.push(`asks ${request.url()}`)
    })
    await page.goto(shop.url + path)
    return { page, faults }
  }

  test('each says what it is, fits, is legible and accessible in both themes and on a phone, and asks nobody else', async () => {
    const { page, faults } = await open('/')
    for (const [index, [path, , words]] of places().entries()) {
      await page.goto(shop.url + path)
      assert.match((await page.locator('main').textContent()) ?? '', words, path)
      for (const { viewport, colorScheme } of looks) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        const width = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.ok(width <= viewport.width, `${path} is ${width} wide on ${viewport.width}`)
        const isLight = colorScheme === 'light'
        if (isLight || isLookedAt(index))
          assert.deepEqual(await (isLight ? accessibilityFaults : legibilityOf)(page), [], `${path} ${colorScheme}`)
      }
      assert.deepEqual(faults, [], path)
    }
    await page.close()
  })

  test('a person finds the way from the shop to a purchase by links alone', async () => {
    const { page } = await open('/')
    await page.getByRole('link', { name: 'Banner Fragment', exact: true }).click()
    await page.getByRole('link', { name: 'Buy with x402', exact: true }).click()
    assert.equal(await page.getByLabel('saleId').inputValue(), '392')
    await until(() => page.getByRole('button', { name: 'Pay with the demo wallet', exact: true }).isEnabled())
    await page.close()
  })

  test('the name of an item is text, never markup', async () => {
    const page = await fetch(`${shop.url}/agentic/x402/buy?saleId=%22%3E%3Cscript%3Ealert(1)%3C/script%3E`, {
      headers: HTML,
    })
    assert.doesNotMatch(await page.text(), /<script>alert/)
  })
})
