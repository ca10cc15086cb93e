import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { PrivateKeyAccount } from 'viem/accounts'
import { diagnose } from '../../src/cli/doctor.ts'
import type { Role } from '../../src/domain/operator.ts'
import { audit } from '../operations/people-desk.ts'
import { type Fault, type Studio, startStudio } from '../shop/studio.ts'
import { fundedWallet, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { accessibilityOf } from './accessible.ts'
import { sharedBrowser } from './chromium.ts'
import { type Seat, seatFor } from './console.ts'

const chromium = sharedBrowser()

/** Dearer than what one person gives back alone. */
const DEAR = 'gems:100'
const CHEAP = 'banner:1'

// Everything that somebody does at the console, by the buttons and the keys of its pages, in a shop whose game is a program of its own.
describe('deeds at the console', { skip: chromium.skip }, () => {
  let shop: TestShop
  let studio: Studio
  let browser: Browser
  let buyer: PrivateKeyAccount
  /** An admin, one of support and a viewer, each at a browser of their own. */
  let mara: Seat
  let sol: Seat
  let vera: Seat

  before(async () => {
    ;[studio, browser] = await Promise.all([startStudio('0x00000000000000000000000000000000000000aa'), chromium.open()])
    shop = await startShop({
      env: {
        SUTLER_GAME_BACKEND: studio.url,
        SUTLER_GAME_BACKEND_SECRET: studio.secret.reveal(),
        SUTLER_SUPPORT_REFUNDS_PER_DAY: '5.00',
        SUTLER_SECOND_PERSON_FROM: '0.40',
      },
      doctor: () => diagnose({}, shop.url),
      configure: (config) => ({
        ...config,
        limits: {
          ...config.limits,
          gameRequestLifeMs: 0,
          waitMsMax: 500,
          // Nothing is tried a second time by itself while somebody looks.
          delivery: { ...config.limits.delivery, retryMs: 3_600_000 },
        },
      }),
    })
    buyer = await fundedWallet(shop)
    // Balances are read when a shop looks around.
    await shop.service.operations.lookout.look()
    mara = await seatFor(browser, shop, 'Mara', 'admin')
    sol = await seatFor(browser, shop, 'Sol', 'support')
    vera = await seatFor(browser, shop, 'Vera', 'viewer')
    for (const seat of [mara, sol, vera]) await seat.go('/operator/system')
  })
  after(async () => {
    await chromium.leave()
    await shop.stop()
    await studio.stop()
  })

  async function bought(itemId: string, fault: Fault | null = null): Promise<string> {
    studio.fault = fault
    const answer = await x402Payer(buyer)(`${shop.url}/shop/x402/buy`, post({ itemId, nickname: 'Wren' }))
    const { orderId } = (await answer.json()) as { orderId: string }
    // On a busy machine the answer may come before the goods, and say so.
    if (fault === null) await until(async () => (await statusOf(orderId)) === 'confirmed')
    else await until(() => isPutOff(orderId))
    studio.fault = null
    return orderId
  }

  /** It was tried, and nobody works on it now. */
  async function isPutOff(orderId: string): Promise<boolean> {
    const sql = `select from jobs where kind = 'order' and key = $1 and lease is not null`
    return (await shop.store.db.query(sql, [orderId])).rows.length === 0
  }

  const statusOf = async (orderId: string) => (await shop.service.checkout.orders.byId(orderId))!.status
  const shown = (page: Page, status: string) => page.locator('.under .status', { hasText: status }).waitFor()
  /** Each message counts once: it stays for seconds, and the next deed may say the same. */
  const told = (page: Page, words: string | RegExp) =>
    page
      .locator('.toast:not([data-seen])')
      .filter({ hasText: words })
      .first()
      .evaluate((node) => node.setAttribute('data-seen', ''))
  const dialogOf = (page: Page) => page.getByRole('dialog')
  const press = (page: Page, name: string | RegExp) => page.getByRole('button', { name, exact: true }).click()

  test('what the game cannot say, somebody finds out: it was delivered', async () => {
    const { page } = sol
    const orderId = await bought(CHEAP, 'cannot_say')
    studio.fault = 'cannot_say'
    await sol.move(`/operator/orders/${orderId}`)
    await press(page, 'Decide…')
    const dialog = dialogOf(page)
    const go = dialog.getByRole('button', { name: 'Choose one', exact: true })
    assert.equal(await go.isDisabled(), true, 'neither answer is chosen in advance')
    assert.deepEqual(await accessibilityOf(page), [])
    await dialog.getByLabel(/^It was delivered/).check()
    await dialog.getByLabel('How do you know?').fill('The player wears it.')
    await dialog.getByRole('button', { name: 'It was delivered', exact: true }).click()
    await told(page, 'Decided; the order goes on')
    await shown(page, 'Delivered')
    studio.fault = null
    assert.equal(await statusOf(orderId), 'confirmed')
    const [entry] = await audit(shop, `&about=${orderId}&who=Sol`)
    assert.deepEqual([entry!.deed, entry!.reason], ['order.decided', 'The player wears it.'])
  })

  test('a second person agrees, another one refuses, and whoever asked takes it back', async () => {
    const [first, second, third] = [await bought(DEAR), await bought(DEAR), await bought(DEAR)]
    for (const orderId of [first, second, third]) {
      await mara.move(`/operator/orders/${orderId}`)
      await mara.page.keyboard.press('r')
      await dialogOf(mara.page).getByLabel('Reason').fill(`for ${orderId}`)
      await press(mara.page, 'Send 0.50 USDC back')
      await told(mara.page, 'A second person must agree')
    }
    await mara.move('/operator')
    const asked = (page: Page, orderId: string) => page.locator('.needs li', { hasText: `for ${orderId}` })
    const own = asked(mara.page, first).getByRole('button', { name: /^Agree…/ })
    assert.equal(await own.getAttribute('aria-disabled'), 'true', 'nobody is their own second person')
    await vera.move('/operator')
    for (const name of [/^Agree…/, /^Refuse…/])
      assert.equal(await asked(vera.page, first).getByRole('button', { name }).getAttribute('aria-disabled'), 'true')

    await sol.move('/operator')
    await asked(sol.page, first).getByRole('button', { name: 'Agree…', exact: true }).click()
    const dialog = dialogOf(sol.page)
    for (const words of ['Mara', buyer.address, `for ${first}`, 'Left after'])
      await dialog.getByText(words).first().waitFor()
    assert.deepEqual(await accessibilityOf(sol.page), [])
    await press(sol.page, 'Send 0.50 USDC back')
    await until(async () => (await statusOf(first)) === 'refunded')
    await asked(sol.page, second).getByRole('button', { name: 'Refuse…', exact: true }).click()
    await dialogOf(sol.page).getByLabel('Reason').fill('They have it.')
    await press(sol.page, 'Refuse it')
    await told(sol.page, 'No money is sent')
    // What one does, the other sees without loading anything.
    await asked(mara.page, second).waitFor({ state: 'detached' })
    await asked(mara.page, third).getByRole('button', { name: 'Take back…', exact: true }).click()
    await dialogOf(mara.page).getByLabel('Reason').fill('Found it.')
    await press(mara.page, 'Take it back')
    await mara.page.getByText('Waits for a second person').waitFor({ state: 'detached' })
    assert.deepEqual([await statusOf(second), await statusOf(third)], ['confirmed', 'confirmed'])
  })

  /** What a stranger is told when they ask what something costs. */
  const asked = async (rail: string) =>
    (await fetch(`${shop.url}/shop/${rail}/buy`, post({ itemId: DEAR, nickname: 'Wren' }))).status

  test('a protocol is paused and resumed, then all of them; every console says so, and whoever asks is told', async () => {
    const { page } = mara
    await mara.move('/operator/system')
    await vera.move('/operator/orders')
    const row = page.locator('li', { has: page.locator('.rail', { hasText: 'x402' }) })
    await row.getByRole('button', { name: 'Pause…', exact: true }).click()
    await dialogOf(page).getByLabel('Reason').fill('The facilitator is odd.')
    await press(page, 'Pause x402')
    await row.getByText('Paused', { exact: true }).waitFor()
    await vera.page.getByText('Sales by x402 are paused by Mara: The facilitator is odd.').waitFor()
    await until(async () => (await asked('x402')) === 503)
    assert.equal(await asked('mpp'), 402)
    await row.getByRole('button', { name: 'Resume…', exact: true }).click()
    await dialogOf(page).getByText('The facilitator is odd.').waitFor()
    await press(page, 'Resume x402')
    await vera.page.getByText('Sales by x402 are paused').waitFor({ state: 'detached' })
    await until(async () => (await asked('x402')) === 402)

    await press(page, 'Pause all…')
    await dialogOf(page).getByLabel('Reason').fill('A bad night.')
    await press(page, 'Pause x402 and MPP')
    await told(page, 'Nothing is sold now')
    await until(async () => (await asked('x402')) === 503 && (await asked('mpp')) === 503)
    assert.deepEqual(await accessibilityOf(page), [])
    await press(page, 'Resume all…')
    await press(page, 'Resume x402 and MPP')
    await told(page, 'The shop sells again')
    await until(async () => (await asked('x402')) === 402 && (await asked('mpp')) === 402)
  })

  test('where the game keeps its own items and players, the console says so and offers nothing to change', async () => {
    const { page } = mara
    await mara.move('/operator/catalog')
    await page.getByText('The game keeps its own items').waitFor()
    assert.equal(await page.getByRole('button', { name: 'New item', exact: true }).count(), 0)
    await mara.move('/operator/players')
    await page.getByText('The game keeps its own players').waitFor()
  })

  test('the log shows before and after of a deed, and proves that it is whole', async () => {
    const { page } = mara
    await mara.move('/operator/audit?deed=order.decided')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    const dialog = dialogOf(page)
    await dialog.getByRole('row', { name: /Outcome/ }).waitFor()
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await press(page, 'Verify the chain')
    await dialog.getByText('The log is whole').waitFor()
    assert.deepEqual(await accessibilityOf(page), [])
  })

  // That each route refuses it as well is asked of the routes.
  test('what a role may not do is shown, cannot be pressed and says why', async () => {
    const orderId = await bought(DEAR)
    const order = `/operator/orders/${orderId}`
    const deeds: readonly (readonly [page: string, button: string, needed: Role])[] = [
      [order, 'Note', 'support'],
      [order, 'Refund…', 'support'],
      ['/operator/money', 'Compare with the chain', 'support'],
      ['/operator/webhooks', 'Add', 'admin'],
      ['/operator/system', 'Run the doctor', 'admin'],
      ['/operator/system', 'Pause all…', 'admin'],
      ['/operator/system', 'Block a payer…', 'admin'],
      ['/operator/people', 'Invite', 'admin'],
    ]
    for (const [seat, role] of [
      [vera, 'viewer'],
      [sol, 'support'],
    ] as const) {
      const { page } = seat
      for (const [path, button, needed] of deeds) {
        if (new URL(page.url()).pathname !== path) await seat.move(path)
        const found = page.getByRole('button', { name: new RegExp(`^${button}($|\\s*,)`) }).first()
        await found.waitFor()
        const isRefused = role === 'viewer' || needed === 'admin'
        assert.equal(await found.getAttribute('aria-disabled'), isRefused ? 'true' : null, `${role}: ${button}`)
        if (isRefused) assert.match((await found.getAttribute('title'))!, /role|Only/, `${role}: ${button}`)
      }
      await seat.move(order)
      await page.getByRole('button', { name: /^Refund…/ }).waitFor()
      await page.keyboard.press('r')
      // What came of a key is open before what the next key opens.
      if (role === 'viewer') await page.keyboard.press('?')
      await dialogOf(page).waitFor()
      const opened = await dialogOf(page).getAttribute('aria-label')
      assert.equal(opened, role === 'viewer' ? 'Keys' : 'Send the money back')
      await page.keyboard.press('Escape')
      await dialogOf(page).waitFor({ state: 'detached' })
    }
  })

  test('nothing went wrong in anybody’s browser', () => {
    // The browser itself says of what was refused, is not there, or came too late on a busy machine that it could not be loaded.
    const isOurs = (fault: string) => !/40[034]|503/.test(fault)
    assert.deepEqual(
      [mara, sol, vera].map(({ faults }) => faults.filter(isOurs)),
      [[], [], []],
    )
  })
})
