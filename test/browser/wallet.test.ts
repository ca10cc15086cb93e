import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { PrivateKeyAccount } from 'viem/accounts'
import { sandboxKey } from '../../src/config/published.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { fundedWallet } from '../support/buyers.ts'
import { erc20Balance, nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { accessibilityFaults } from './accessible.ts'
import { openContext, sharedBrowser } from './chromium.ts'

const chromium = sharedBrowser()

type Wallet = {
  readonly account: PrivateKeyAccount
  chainId: number
  refuses: boolean
  stays: boolean
  readonly asked: string[]
}
type Nft = { readonly contract: `0x${string}`; readonly tokenId: string }
type Typed = Parameters<PrivateKeyAccount['signTypedData']>[0]

describe('paying from a page', { skip: chromium.skip }, () => {
  let shop: TestShop
  let browser: Browser
  let page: Page
  let wallet: Wallet
  before(async () => {
    ;[shop, browser] = await Promise.all([startShop({ withSandboxRoutes: true }), chromium.open()])
  })
  after(async () => {
    await chromium.leave()
    await shop.stop()
  })
  beforeEach(async (context) => {
    const dollars = context.name.includes('too little') ? 0n : 1_000n
    const account = await fundedWallet(shop, dollars)
    wallet = { account, chainId: 84532, refuses: false, stays: false, asked: [] }
    page = await (await openContext(browser)).newPage()
    await page.exposeFunction('askWallet', (request: { method: string; params?: unknown[] }) =>
      answerAs(wallet, request),
    )
    await page.addInitScript(announce)
  })
  // The dashboard asks for news for as long as it is open.
  afterEach(() => page.close())

  /** A wallet that nobody but the test controls (EIP-1193). Errors travel as values, because an exposed function loses their codes. */
  async function answerAs(
    own: Wallet,
    { method, params = [] }: { method: string; params?: unknown[] },
  ): Promise<unknown> {
    own.asked.push(method)
    switch (method) {
      case 'eth_requestAccounts':
        return own.refuses ? { error: { code: 4001, message: 'no' } } : { result: [own.account.address] }
      case 'eth_chainId':
        return { result: `0x${own.chainId.toString(16)}` }
      case 'wallet_switchEthereumChain':
        if (own.stays) return { error: { code: 4001, message: 'no' } }
        own.chainId = Number((params[0] as { chainId: string }).chainId)
        return { result: null }
      case 'eth_signTypedData_v4':
        return { result: await own.account.signTypedData(JSON.parse(params[1] as string) as Typed) }
      default:
        return { result: await shop.chains.native.request({ method, params }) }
    }
  }

  const held = () => erc20Balance(shop.chains.native, shop.config.x402!.asset, wallet.account.address)
  const pay = () => page.getByRole('button', { name: 'Pay with Test Wallet', exact: true }).click()
  const end = (kind: string) => page.locator(`form.pay .end[data-end="${kind}"]`).waitFor()
  const open = () => page.goto(`${shop.url}/agentic/x402/buy?saleId=392&beneficiary=`)

  async function ownedBy(address: string): Promise<boolean> {
    const details = page.locator('form.pay .steps details pre')
    const texts = await details.allTextContents()
    const told = texts.filter((text) => text.startsWith('{')).map((text) => JSON.parse(text) as { nfts?: Nft[] })
    const { contract, tokenId } = told.find(({ nfts }) => nfts !== undefined)!.nfts![0]!
    const owner = await nftOwner(shop.chains.native, contract, tokenId)
    return owner.toLowerCase() === address.toLowerCase()
  }

  test('a wallet found by EIP-6963 signs one message; the NFT is on the chain, and each step is told', async () => {
    verifies('D16.6')
    await open()
    const before = await held()
    await pay()
    await end('delivered')
    assert.ok(await ownedBy(wallet.account.address))
    assert.equal(before - (await held()), 250_000n)
    assert.equal(wallet.asked.filter((method) => method === 'eth_signTypedData_v4').length, 1)
    assert.ok(!wallet.asked.includes('eth_sendTransaction'))
    const steps = (await page.locator('form.pay .steps > li').allTextContents()).join('\n')
    for (const words of [
      /asks for a payment by x402/,
      /TransferWithAuthorization/,
      /PAYMENT-SIGNATURE/,
      /Settled in transaction 0x/,
      /Delivered/,
      /receipt/,
    ])
      assert.match(steps, words)
    await page.setViewportSize({ width: 390, height: 844 })
    assert.deepEqual(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: 'See the payment', exact: true }).click()
    await page.locator('h1', { hasText: 'Paid and delivered' }).waitFor()
  })

  test('a refusal ends in words, and nothing is signed', async () => {
    wallet.refuses = true
    await open()
    await pay()
    await end('refused')
    assert.match((await page.locator('form.pay .end').textContent())!, /Nothing was signed and nothing was taken/)
    assert.ok(!wallet.asked.includes('eth_signTypedData_v4'))
  })

  test('a wallet on another network is asked to switch; one that stays there signs nothing', async () => {
    Object.assign(wallet, { chainId: 1, stays: true })
    await open()
    await pay()
    await end('network')
    assert.match(
      (await page.locator('form.pay .end').textContent())!,
      /paid on network 84532, and the wallet stays on 1/,
    )
    assert.ok(!wallet.asked.includes('eth_signTypedData_v4'))
    wallet.stays = false
    await pay()
    await end('delivered')
  })

  test('too little money is told before anything is signed', async () => {
    await open()
    await pay()
    await end('funds')
    assert.match(
      (await page.locator('form.pay .end').textContent())!,
      /costs 0\.25 USD, and 0x[0-9a-fA-F]{40} holds 0\.00 USD/,
    )
    assert.ok(!wallet.asked.includes('eth_signTypedData_v4'))
  })

  test('a lost answer is asked for with the same payment: it is delivered, and charged once', async () => {
    verifies('D16.7')
    await open()
    const before = await held()
    let lost = 0
    await page.route('**/agentic/x402/buy', async (route) => {
      if (!route.request().headers()['payment-signature'] || lost > 0) return route.continue()
      lost++
      // It reaches the shop, which takes the money and delivers; only the answer is lost.
      await route.fetch()
      await route.abort()
    })
    await pay()
    await end('delivered')
    assert.equal(lost, 1)
    assert.equal(before - (await held()), 250_000n)
    assert.match((await page.locator('form.pay .steps').textContent())!, /The same payment is sent again/)
  })

  test('an answer that stays lost ends in a page that says so, also after it is opened anew, and asking again charges nothing', async () => {
    await open()
    const before = await held()
    await page.route('**/agentic/x402/buy', async (route) => {
      if (!route.request().headers()['payment-signature']) return route.continue()
      await route.fetch()
      await route.abort()
    })
    await pay()
    await end('lost')
    const link = page.getByRole('link', { name: 'See the payment', exact: true })
    const told = await fetch(shop.url + (await link.getAttribute('href')))
    assert.equal(told.status, 200)
    await page.unroute('**/agentic/x402/buy')
    await open()
    await page.locator('form.pay .end', { hasText: 'Do not pay again' }).waitFor()
    await page.getByRole('button', { name: 'Ask again with the same payment', exact: true }).click()
    await end('delivered')
    assert.equal(before - (await held()), 250_000n)
    assert.equal(wallet.asked.filter((method) => method === 'eth_signTypedData_v4').length, 1)
  })

  test('an answer that is not from the shop is a lost one: the payment stays at hand, and no other is signed', async () => {
    await open()
    const before = await held()
    await page.route('**/agentic/x402/buy', async (route) => {
      if (!route.request().headers()['payment-signature']) return route.continue()
      await route.fetch()
      await route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad gateway</h1>' })
    })
    await pay()
    await end('lost')
    await page.unroute('**/agentic/x402/buy')
    await page.getByRole('button', { name: 'Ask again with the same payment', exact: true }).click()
    await end('delivered')
    assert.equal(before - (await held()), 250_000n)
    assert.equal(wallet.asked.filter((method) => method === 'eth_signTypedData_v4').length, 1)
  })

  test('whoever presses Pay once more before the first payment is answered is charged once', async () => {
    await open()
    const before = await held()
    await page.route('**/agentic/x402/buy', async (route) => {
      if (!route.request().headers()['payment-signature']) return route.continue()
      await route.fetch()
      await route.abort()
    })
    await pay()
    await end('lost')
    await page.unroute('**/agentic/x402/buy')
    await pay()
    await end('delivered')
    assert.match((await page.locator('form.pay .steps').textContent())!, /no other is signed/)
    assert.equal(before - (await held()), 250_000n)
    assert.equal(wallet.asked.filter((method) => method === 'eth_signTypedData_v4').length, 1)
  })

  for (const rail of ['x402', 'MPP']) {
    test(`in the sandbox one press buys by ${rail} with the demo wallet, and the dashboard shows the order`, async () => {
      verifies('D16.8')
      await page.goto(`${shop.url}/sandbox`)
      const form = page.locator('form.pay', {
        has: page.getByRole('button', { name: `Banner Fragment, 0.25 by ${rail}`, exact: true }),
      })
      await form.getByRole('button').click()
      await form.locator('.end[data-end="delivered"]').waitFor()
      const steps = (await form.locator('.steps > li').allTextContents()).join('\n')
      for (const words of [/402/, /The demo wallet signed this/, /Settled in transaction/, /Delivered/])
        assert.match(steps, words)
      const href = await form.getByRole('link', { name: 'See the payment', exact: true }).getAttribute('href')
      await page.locator(`#orders a[href="${href}"]`).waitFor()
    })
  }

  test('the dashboard copies keys and fills wallets', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.goto(`${shop.url}/sandbox`)
    await page.getByRole('button', { name: 'Copy: Demo key', exact: true }).click()
    await page.getByText('Copied').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), sandboxKey('demo').reveal())
    assert.ok((await page.textContent('main'))!.includes(demoAddressOf('demo')))
    const before = await held()
    await page.getByLabel('Your address').fill(wallet.account.address)
    await page.getByRole('button', { name: 'Fill it', exact: true }).click()
    await page.getByText(/^Filled: .*1000\.00 USDC/).waitFor()
    assert.equal((await held()) - before, 1_000_000_000n)
  })
})

function announce(): void {
  type Answer = { readonly result?: unknown; readonly error?: { readonly code: number; readonly message: string } }
  const provider = {
    async request(request: unknown) {
      const { askWallet } = globalThis as unknown as { askWallet(request: unknown): Promise<Answer> }
      const { result, error } = await askWallet(request)
      if (error) throw Object.assign(new Error(error.message), { code: error.code })
      return result
    },
  }
  const detail = {
    info: { uuid: 'b2c1', name: 'Test Wallet', icon: 'data:image/svg+xml,', rdns: 'example.test' },
    provider,
  }
  const tell = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze(detail) }))
  addEventListener('eip6963:requestProvider', tell)
  tell()
}
