import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Role } from '../../src/domain/operator.ts'
import { addOperator } from '../operations/people-desk.ts'
import type { TestShop } from '../support/shop.ts'

/** The test runner ends what hangs; a busy machine is no failure. */
const PATIENCE_MS = 240_000
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Somebody at the console, and whatever went wrong in their browser. */
export type Seat = {
  readonly page: Page
  readonly context: BrowserContext
  /** Messages on the console, errors of scripts, breaches of the page's own policy, requests to others, boxes that a script opened. */
  readonly faults: string[]
  go(path: string): Promise<void>
}

export const screens = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } } as const
/** Colours depend on the theme and structure on the width, so two of the four show everything. */
export const looks = [
  ['desktop', 'light'],
  ['phone', 'dark'],
] as const

/** A browser of its own, signed in by a link as a new colleague would. */
export async function seatFor(browser: Browser, shop: TestShop, name: string, role: Role): Promise<Seat> {
  const { link } = await addOperator(shop, name, role)
  const seat = await emptySeat(browser, shop)
  await seat.page.goto(link.url)
  await seat.page.getByRole('button', { name: `Sign in as ${name}` }).click()
  await seat.page.getByRole('button', { name: 'Not now, open the console' }).click()
  await seat.page.locator('#me button').waitFor()
  return seat
}

export async function emptySeat(browser: Browser, shop: TestShop): Promise<Seat> {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'] })
  const page = await context.newPage()
  page.setDefaultTimeout(PATIENCE_MS)
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
  }
}

/** Nothing is loading any more: neither a screen nor a panel. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => document.querySelector('main h1') && !document.querySelector('.skeleton, main [aria-busy="true"]'),
  )
}

/** What axe finds, in a line each. It runs in the page's main world without being loaded by the page, so the policy stays as it is. */
export async function accessibilityOf(page: Page): Promise<readonly string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  return page.evaluate(async () => {
    type Found = { id: string; nodes: { target: unknown[]; failureSummary?: string }[] }
    const { axe } = globalThis as unknown as {
      axe: { run(context: Document, options: object): Promise<{ violations: Found[] }> }
    }
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
    const { violations } = await axe.run(document, { runOnly: { type: 'tag', values: tags } })
    return violations.map(
      ({ id, nodes }) => `${id}: ${nodes.map((node) => `${node.target.join(' ')} ${node.failureSummary}`).join(' | ')}`,
    )
  })
}
