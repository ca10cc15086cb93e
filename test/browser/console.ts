import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Role } from '../../src/domain/operator.ts'
import { addOperator, enter, tokenIn } from '../operations/people-desk.ts'
import type { TestShop } from '../support/shop.ts'
import { openContext } from './chromium.ts'

/** Somebody at the console, and whatever went wrong in their browser. */
export type Seat = {
  readonly page: Page
  readonly context: BrowserContext
  /** Messages on the console, errors of scripts, breaches of the page's own policy, requests to others, boxes that a script opened. */
  readonly faults: string[]
  /** As with an address that is typed: the page is loaded. */
  go(path: string): Promise<void>
  /** As with a link of the console, which loads data alone and costs a quarter. */
  move(path: string): Promise<void>
}

/** A browser of its own, signed in as the page does it with a link. The pages of that have a test of their own, and cost more than all else here. */
export async function seatFor(browser: Browser, shop: TestShop, name: string, role: Role): Promise<Seat> {
  const entered = await enter(shop.url, { token: tokenIn(await addOperator(shop, name, role)) })
  const [, cookie, value] = /^([^=]+)=([^;]+)/.exec(entered.headers.get('set-cookie') ?? '')!
  const seat = await emptySeat(browser, shop)
  await seat.context.addCookies([
    { name: cookie!, value: value!, url: shop.url, httpOnly: true, sameSite: 'Strict' as const },
  ])
  return seat
}

export async function emptySeat(browser: Browser, shop: TestShop): Promise<Seat> {
  const context = await openContext(browser, { permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  const faults: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') faults.push(`${message.type()}: ${message.text()}`)
  })
  page.on('pageerror', (error) => faults.push(`script: ${error.message}`))
  page.on('dialog', (dialog) => {
    faults.push(`a script of somebody else ran: ${dialog.message()}`)
    dialog.dismiss().catch(() => {})
  })
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url())
    if (protocol !== 'data:' && protocol !== 'blob:' && origin !== new URL(shop.url).origin)
      faults.push(`asked somebody else: ${request.url()}`)
  })
  await page.addInitScript(() => {
    addEventListener('securitypolicyviolation', ({ violatedDirective, sourceFile, sample }) => {
      console.error(`policy: ${violatedDirective} ${sourceFile} ${sample}`)
    })
  })
  return {
    page,
    context,
    faults,
    async go(path) {
      await page.goto(shop.url + path)
      await settled(page)
    },
    async move(path) {
      await page.evaluate((to) => {
        history.pushState(null, '', to)
        dispatchEvent(new PopStateEvent('popstate'))
        return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))
      }, path)
      await settled(page)
    },
  }
}

/** Nothing is loading any more: neither a screen nor a panel. Asked for with every frame, the question itself kept the browser busy. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => document.querySelector('main h1') && !document.querySelector('.skeleton, main [aria-busy="true"]'),
    undefined,
    { polling: 50 },
  )
}
