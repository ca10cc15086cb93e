import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { problems } from '../../src/base/problem.ts'
import { operationsOf, readJson } from '../documents/documents.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { accessibilityFaults, legibilityOf, looks, phone } from './accessible.ts'
import { openContext, sharedBrowser } from './chromium.ts'

const chromium = sharedBrowser()

describe('pages for people', { skip: chromium.skip }, () => {
  let shop: TestShop
  let browser: Browser
  let page: Page
  /** Addresses that were asked for and are not the shop's. */
  const strangers: string[] = []
  /** What went wrong: on the console, in a script, or because the page's own policy forbade it. */
  const faults: string[] = []
  before(async () => {
    ;[shop, browser] = await Promise.all([startShop(), chromium.open()])
    const context = await openContext(browser, { permissions: ['clipboard-read', 'clipboard-write'] })
    page = await context.newPage()
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url())
      if (protocol !== 'data:' && origin !== new URL(shop.url).origin) strangers.push(request.url())
    })
    page.on('console', (message) => {
      if (message.type() !== 'log') faults.push(`${message.type()}: ${message.text()}`)
    })
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('response', (response) => {
      if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`)
    })
  })
  after(async () => {
    await chromium.leave()
    await shop.stop()
  })

  /** What must be there before a page counts as shown. */
  const shown = {
    '/': '.recipe button',
    '/docs': '.opblock',
    '/errors': 'tbody tr',
  } as const
  type Path = keyof typeof shown

  /** In one window, which has read the viewer's script before; and not again for the next test of a page: to draw every operation is dear. */
  async function open(path: Path): Promise<void> {
    if (page.url() === shop.url + path) return
    strangers.length = 0
    faults.length = 0
    await load(path)
  }

  async function load(path: Path): Promise<void> {
    const answer = await page.goto(shop.url + path)
    assert.equal(answer?.status(), 200)
    await page.locator(shown[path]).first().waitFor()
    await page.waitForLoadState('networkidle')
  }

  function looksWell(path: Path): void {
    test(`${path} fits and is legible in light and dark, has no fault and asks nobody else`, async () => {
      await open(path)
      for (const { viewport, colorScheme } of looks) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        const width = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.ok(width <= viewport.width, `${colorScheme}: ${width} wide`)
        const { paper, ink } = await coloursOf(page)
        assert.equal(paper > ink, colorScheme === 'light', `${colorScheme}: paper ${paper}, ink ${ink}`)
        assert.ok(contrast(paper, ink) >= 7, `${colorScheme}: contrast ${contrast(paper, ink)}`)
        // Inside the viewer is what others wrote; one row of a table is made like the other.
        const faultsOf = colorScheme === 'light' ? accessibilityFaults : legibilityOf
        assert.deepEqual(await faultsOf(page, ['#viewer', 'tbody tr:nth-child(n+4)']), [], colorScheme)
      }
      assert.deepEqual(strangers, [])
      assert.deepEqual(faults, [])
    })
  }

  const shownPaths = () =>
    page
      .locator('#viewer .opblock [data-path]')
      .evaluateAll((nodes) => nodes.map((node) => node.getAttribute('data-path')))
  const pathsOf = async (document: string) => operationsOf(await readJson(shop.url + document)).map(({ path }) => path)

  looksWell('/')

  test('/ tells what is on sale at live prices, and its button copies a recipe as it stands', async () => {
    await open('/')
    const { items } = await readJson<{ items: { displayName: string; price: { amount: string; currency: string } }[] }>(
      `${shop.url}/catalog`,
    )
    const rows = await page
      .getByRole('table', { name: 'On sale now', exact: true })
      .locator('tbody tr')
      .allTextContents()
    assert.equal(rows.length, items.length)
    for (const [index, { displayName, price }] of items.entries()) {
      assert.ok(rows[index]!.includes(displayName), rows[index])
      assert.ok(rows[index]!.includes(`${price.amount} ${price.currency}`), rows[index])
    }
    const recipe = page.locator('.recipe').first()
    await recipe.getByRole('button', { name: 'Copy', exact: true }).click()
    await recipe.getByRole('button', { name: 'Copied', exact: true }).waitFor()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    assert.equal(copied, await recipe.locator('code').textContent())
  })

  test('the keyboard reaches the links first, and it shows where it is', async () => {
    await page.setViewportSize(looks[0].viewport)
    await load('/')
    await page.keyboard.press('Tab')
    const focused = await page.evaluate(() => {
      const node = document.activeElement as HTMLElement
      return { href: node.getAttribute('href'), outline: getComputedStyle(node).outlineStyle }
    })
    assert.deepEqual(focused, { href: '/', outline: 'solid' })
  })

  looksWell('/docs')

  test('/docs shows every operation of the paid contract, with an answer', async () => {
    await open('/docs')
    assert.deepEqual((await shownPaths()).toSorted(), (await pathsOf('/openapi.json')).toSorted())
    const buy = page.locator('#operations-sale-postAgenticX402Buy')
    await buy.locator('.opblock-summary-control').click()
    const example = await buy.locator('[data-code="200"] .example').first().textContent()
    assert.match(example ?? '', /"status": "confirmed"[\s\S]*"tokenId"/)
  })

  looksWell('/errors')

  test('/errors has a row for every code, and a link to one shows it', async () => {
    await page.setViewportSize(phone)
    await load('/errors')
    const codes = await page.locator('tbody tr').evaluateAll((rows) => rows.map(({ id }) => id))
    assert.deepEqual(codes.toSorted(), Object.keys(problems).toSorted())
    await page.goto(`${shop.url}/errors#payment_conflict`)
    const row = page.locator('#payment_conflict')
    await row.waitFor()
    await until(() => row.evaluate((node) => node.getBoundingClientRect().top < innerHeight))
    // A phone lays rows out as cards; what each cell is stays readable for eyes and for screen readers.
    assert.equal(await row.getByRole('cell').first().getAttribute('data-label'), 'Meaning')
  })
})

/** Relative luminance of the paper and of the ink, as WCAG counts it. */
async function coloursOf(page: Page): Promise<{ paper: number; ink: number }> {
  const [paper, ink] = await page.evaluate(() => {
    const { backgroundColor, color } = getComputedStyle(document.body)
    return [backgroundColor, color]
  })
  return { paper: luminance(paper!), ink: luminance(ink!) }
}

function luminance(rgb: string): number {
  const [red, green, blue] = (rgb.match(/\d+/g) ?? []).slice(0, 3).map((channel) => {
    const share = Number(channel) / 255
    return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

function contrast(one: number, other: number): number {
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
}
