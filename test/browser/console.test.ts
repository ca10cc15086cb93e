import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import type { PrivateKeyAccount } from 'viem/accounts'
import { consolePaths } from '../../src/api/console/places.ts'
import { asOperator } from '../operations/desk.ts'
import type { Entry } from '../operations/people-desk.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { accessibilityOf, isLookedAt, legibilityOf, looks } from './accessible.ts'
import { sharedBrowser } from './chromium.ts'
import { type Seat, seatFor, settled } from './console.ts'

const chromium = sharedBrowser()

/** A name that would like to be a script. Whoever chooses names is not to be trusted with the page. */
const EVIL = '<img src=x onerror=alert(1)>'

describe('the operator’s console', { skip: chromium.skip }, () => {
  let shop: TestShop
  let browser: Browser
  let buyer: PrivateKeyAccount
  let mara: Seat
  const orders: Record<string, string> = {}

  before(async () => {
    ;[shop, browser] = await Promise.all([startShop({ withSandboxRoutes: true }), chromium.open()])
    buyer = await fundedWallet(shop)
    await fill()
    // Balances are read when a shop looks around.
    await shop.service.operations.lookout.look()
    mara = await seatFor(browser, shop, 'Mara', 'admin')
    await mara.go('/operator')
  })
  after(async () => {
    await chromium.leave()
    await shop.stop()
  })

  /** A shop on an ordinary day: sold, failed and returned, on both rails, and with names that are no names. */
  async function fill(): Promise<void> {
    const buy = async (name: string, rail: 'x402' | 'mpp', path: string, body: object) => {
      const pay = rail === 'x402' ? x402Payer(buyer) : mppPayer(shop, buyer, 'pull')
      const answer = (await (await pay(`${shop.url}/${path.replace('RAIL', rail)}`, post(body))).json()) as {
        orderId?: string
      }
      if (answer.orderId) orders[name] = answer.orderId
    }
    const operate = async (path: string, body: object) => {
      const response = await asOperator(shop, path, post(body))
      assert.ok(response.status < 300, `${path}: ${await response.clone().text()}`)
    }
    await operate('/operator/items', { id: 'evil:1', name: EVIL, description: EVIL, price: '1.00' })
    await buy('delivered', 'x402', 'shop/RAIL/buy', { itemId: 'keys:5', nickname: 'Demo' })
    await buy('evil', 'mpp', 'shop/RAIL/buy', { itemId: 'evil:1', nickname: 'Ada' })
    await buy('failed', 'x402', 'shop/RAIL/buy', { itemId: 'lantern:1', nickname: 'fail_delivery' })
    await buy('minted', 'mpp', 'agentic/RAIL/buy', { saleId: 392, beneficiary: buyer.address })
    await operate(`/operator/orders/${orders['evil']}/notes`, { text: EVIL })
    await operate('/sandbox/practice', { deed: 'stray_money' })
    await operate('/operator/reconcile', {})
  }

  const auditOf = async (deed: string): Promise<readonly Entry[]> => {
    const { entries } = (await (await asOperator(shop, `/operator/audit?deed=${deed}`)).json()) as { entries: Entry[] }
    return entries
  }

  test('a page is a shell without data, under a policy that lets nothing else run; a machine gets JSON at the same address', async () => {
    const navigate = (path: string) => fetch(shop.url + path, { headers: { accept: 'text/html' } })
    const page = await navigate('/operator/orders')
    assert.equal(page.status, 200)
    const policy = page.headers.get('content-security-policy')!
    for (const rule of [
      "default-src 'none'",
      "require-trusted-types-for 'script'",
      "trusted-types 'none'",
      "frame-ancestors 'none'",
    ])
      assert.ok(policy.includes(rule), rule)
    assert.ok(!/unsafe/.test(policy), policy)
    assert.match(page.headers.get('vary')!, /Accept/)
    assert.equal(page.headers.get('cache-control'), 'no-store')
    assert.equal(page.headers.get('access-control-allow-origin'), null)
    const text = await page.text()
    assert.match(text, /<h1[^>]*>Orders<\/h1>/)
    assert.ok(!text.includes(orders['delivered']!))
    const json = await fetch(`${shop.url}/operator/orders`)
    assert.equal(json.status, 401)
    assert.equal(json.headers.get('content-type'), 'application/json')
  })

  test('whatever a page loads is small, comes from here, and may be kept for ever', async () => {
    const sizes = new Map<string, number>()
    const loadedBy = async (path: string) => {
      const text = await (await fetch(shop.url + path, { headers: { accept: 'text/html' } })).text()
      assert.ok(text.length < 12_000, `${path}: ${text.length} letters`)
      const named = [...text.matchAll(/(?:href|src)="(\/operator\/assets\/[^"]+)"/g)].map(([, address]) => address!)
      for (const address of named) {
        if (sizes.has(address)) continue
        const file = await fetch(shop.url + address, { headers: { 'accept-encoding': 'br' } })
        assert.equal(file.status, 200, address)
        assert.match(file.headers.get('cache-control')!, /immutable/)
        assert.equal(file.headers.get('access-control-allow-origin'), null)
        sizes.set(address, Number(file.headers.get('content-length')))
      }
      return [...new Set(named)].reduce((all, address) => all + sizes.get(address)!, 0)
    }
    for (const path of [...consolePaths.filter((path) => !path.includes('{')), '/operator/orders/ord_1']) {
      const bytes = await loadedBy(path)
      assert.ok(bytes < 37_000, `${path}: ${bytes} bytes before the first data`)
    }
    const first = await loadedBy('/operator')
    assert.ok(first < 35_000, `${first} bytes before the first data of the first screen`)
    assert.equal((await fetch(`${shop.url}/operator/assets/0000000000000000/app.js`)).status, 404)
  })

  test('the first data are asked for with the page itself, and once', async () => {
    const { page } = mara
    for (const [path, data] of [
      ['/operator', '/operator/me'],
      ['/operator/orders', '/operator/orders?totals=true'],
      [`/operator/orders/${orders['minted']}`, '/operator/me'],
    ] as const) {
      await mara.go(path)
      await page.locator('.live.on').waitFor()
      const askedBy = await page.evaluate(
        (name) =>
          (performance.getEntriesByType('resource') as PerformanceResourceTiming[])
            .filter((entry) => entry.name === name)
            .map(({ initiatorType }) => initiatorType),
        shop.url + data,
      )
      assert.deepEqual(askedBy, ['link'], `${data} at ${path}`)
    }
  })

  const places: readonly (readonly [path: string | (() => string), shown: string])[] = [
    ['/operator', 'Needs you'],
    ['/operator/orders', 'Orders'],
    [() => `/operator/orders/${orders['evil']}`, EVIL],
    [() => `/operator/orders/${orders['failed'] ?? orders['delivered']}`, 'What happened'],
    ['/operator/orders/ord_nobody', 'Nothing has this name'],
    ['/operator/catalog', EVIL],
    ['/operator/catalog?tab=lots', 'Banner Fragment'],
    ['/operator/catalog?tab=prices', 'Health probe'],
    ['/operator/players', 'Ada'],
    ['/operator/money', 'Float against liabilities'],
    ['/operator/funnel', 'From price to goods'],
    ['/operator/wallets', 'Treasury'],
    ['/operator/transfers?state=all', 'Transfers'],
    ['/operator/live', 'Delivered'],
    ['/operator/webhooks', 'Nobody is told of events'],
    ['/operator/system', 'Replicas'],
    [() => '/operator/players/ply_ada', 'Inventory'],
    ['/operator/audit', 'Mara'],
    ['/operator/people', 'Mara'],
    ['/operator/practice', 'A bad day'],
  ]

  for (const [index, [path, shown]] of places.entries()) {
    const name = typeof path === 'string' ? path : `one order with ${shown}`
    test(`${name} opens in light and dark, on a desktop and on a phone, for everybody, and runs nobody else’s script`, async () => {
      const { page, faults } = mara
      faults.length = 0
      const isMissing = path === '/operator/orders/ord_nobody'
      await mara.move(typeof path === 'string' ? path : path())
      await page.locator('main').getByText(shown).first().waitFor()
      for (const { viewport, colorScheme } of looks) {
        await page.setViewportSize(viewport)
        await page.emulateMedia({ colorScheme })
        const width = await page.evaluate(() => document.documentElement.scrollWidth)
        assert.ok(width <= viewport.width, `${colorScheme}: ${width} wide`)
        // What a phone alone shows is the same on every page.
        const isAsked = viewport === looks[0].viewport || path === '/operator'
        if (isAsked || isLookedAt(index))
          assert.deepEqual(await (isAsked ? accessibilityOf : legibilityOf)(page), [], colorScheme)
      }
      await page.setViewportSize(looks[0].viewport)
      assert.deepEqual(isMissing ? faults.filter((fault) => !/404/.test(fault)) : faults, [])
    })
  }

  test('a refund shows what follows, and pressed twice it pays once', async () => {
    const { page } = mara
    const orderId = orders['delivered']!
    await mara.move(`/operator/orders/${orderId}`)
    await page.getByRole('button', { name: 'Refund…', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(buyer.address).waitFor()
    await dialog.getByText('keeps what was delivered').waitFor()
    await dialog.getByText('Left after').waitFor()
    assert.deepEqual(await accessibilityOf(page), [])
    await dialog.getByLabel('Reason').fill(EVIL)
    await dialog.getByRole('button', { name: 'Send 1.50 USDC back', exact: true }).dblclick()
    await page.locator('.under .status', { hasText: 'Refunded' }).waitFor()
    const refunds = await auditOf('order.refunded')
    assert.equal(refunds.filter(({ about }) => about.id === orderId).length, 1)
    assert.equal(refunds[0]!.who, 'Mara')
    const { order } = (await (await asOperator(shop, `/operator/orders/${orderId}`)).json()) as {
      order: { refund: { amount: string; reason: string; by: string } }
    }
    assert.deepEqual([order.refund.amount, order.refund.reason, order.refund.by], ['1.50', EVIL, 'Mara'])
  })

  test('a note is for the next person, and an order is found by any of its names', async () => {
    const { page } = mara
    const orderId = orders['minted']!
    await mara.move(`/operator/orders/${orderId}`)
    await page.keyboard.press('n')
    await page.getByRole('dialog').getByLabel('What should they know?').fill('The player wrote to us.')
    await page.getByRole('button', { name: 'Add the note', exact: true }).click()
    await page.getByText('The player wrote to us.').waitFor()
    await page.keyboard.press('g')
    await page.keyboard.press('l')
    await page.locator('h1', { hasText: 'Live' }).waitFor()
    await page.keyboard.press('/')
    await page.getByRole('combobox').fill(orderId)
    await page.getByRole('option', { name: /Banner Fragment/ }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByText('The player wrote to us.').waitFor()
    assert.equal(new URL(page.url()).pathname, `/operator/orders/${orderId}`)
  })

  test('rows are walked with j and k and opened with Enter; a filter is the address, and Back undoes it', async () => {
    const { page } = mara
    await mara.move('/operator/orders')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    const first = await page.locator('tbody tr:first-child.at th').textContent()
    await page.keyboard.press('Enter')
    await page.locator('h1', { hasText: first! }).waitFor()
    await page.goBack()
    await page.getByRole('link', { name: /^Refunded/ }).click()
    await page.waitForURL(/status=refunded/)
    await settled(page)
    assert.ok((await page.locator('tbody tr').count()) >= 1)
    await page.goBack()
    await page.waitForURL(/orders$/)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'CSV', exact: true }).click(),
    ])
    assert.equal(file.suggestedFilename(), 'orders.csv')
  })

  test('an order that comes in announces itself, and moves no row', async () => {
    const { page } = mara
    await mara.move('/operator/orders')
    await page.locator('.live.on').waitFor()
    const before = await page.locator('tbody tr').count()
    await x402Payer(buyer)(`${shop.url}/shop/x402/buy`, post({ itemId: 'lantern:1', nickname: 'Demo' }))
    const fresh = page.getByRole('button', { name: '1 new, show', exact: true })
    await fresh.waitFor()
    assert.equal(await page.locator('tbody tr').count(), before)
    await fresh.click()
    await page.getByText('Storm Lantern').first().waitFor()
    await until(async () => (await page.locator('tbody tr').count()) === before + 1)
  })

  test('an item is changed and hidden, and the shelf says so at once', async () => {
    const { page } = mara
    await mara.move('/operator/catalog')
    await page.getByRole('button', { name: 'Storm Lantern', exact: true }).click()
    const sheet = page.getByRole('dialog')
    await sheet.getByLabel('Price in USD').fill('0.90')
    await sheet.getByText('stay good until they end').waitFor()
    assert.deepEqual(await accessibilityOf(page), [])
    await sheet.getByRole('button', { name: 'Save the change', exact: true }).click()
    const row = page.getByRole('row', { name: /Storm Lantern/ })
    await row.getByText('0.90').waitFor()
    await row.getByRole('button', { name: 'Hide', exact: true }).click()
    await page.getByRole('button', { name: 'Hide it', exact: true }).click()
    await row.getByText('Hidden').waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV', exact: true }).click(),
    ])
    assert.equal(file.suggestedFilename(), 'items.csv')
    const catalog = (await (await fetch(`${shop.url}/catalog`)).json()) as { items: { displayName: string }[] }
    assert.ok(!catalog.items.some(({ displayName }) => displayName === 'Storm Lantern'))
    assert.equal((await auditOf('item.changed'))[0]!.who, 'Mara')
  })

  test('money without an order is decided with a reason', async () => {
    const { page } = mara
    await mara.move('/operator/transfers?state=all')
    await page.locator('tbody tr').first().getByRole('checkbox').click()
    await page.getByRole('button', { name: 'Decide about 1…', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel(/^Keep it/).check()
    await dialog.getByLabel('Reason').fill('A gift.')
    await dialog.getByRole('button', { name: 'Keep 3.21 USDC', exact: true }).click()
    await page.getByText('Kept').first().waitFor()
  })

  test('somebody is invited, gets another role, and is sent away', async () => {
    const { page } = mara
    await mara.move('/operator/people')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('Ines')
    await page
      .getByRole('dialog')
      .getByLabel(/^Support/)
      .check()
    await page.getByRole('button', { name: 'Make the link', exact: true }).click()
    const link = (await page.getByLabel('Link', { exact: true }).textContent())!
    assert.match(link, /\/operator\/enter#/)
    assert.deepEqual(await accessibilityOf(page), [])
    await page.getByRole('button', { name: 'Done', exact: true }).click()
    const row = page.getByRole('row', { name: /Ines/ })
    await row.getByRole('button', { name: 'Role…', exact: true }).click()
    await page
      .getByRole('dialog')
      .getByLabel(/^Viewer/)
      .check()
    await page.getByRole('button', { name: 'Make Ines viewer', exact: true }).click()
    await row.getByText('viewer').waitFor()
    await row.getByRole('button', { name: 'Revoke…', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke Ines', exact: true }).click()
    await row.getByText('Revoked').waitFor()
  })

  test('a session that is ended elsewhere asks to sign in, over the page, and goes on from there', async () => {
    const support = await seatFor(browser, shop, 'Sol', 'support')
    const { page } = support
    await support.go('/operator/catalog')
    const { sessions } = (await (await asOperator(shop, '/operator/sessions')).json()) as {
      sessions: { id: string; name?: string; operator?: { name: string } }[]
    }
    const own = sessions.find((one) => (one.operator?.name ?? one.name) === 'Sol')!
    await asOperator(shop, `/operator/sessions/${own.id}`, { method: 'DELETE' })
    // The page may have noticed by itself before, and then nothing behind the form can be clicked.
    await page.getByRole('link', { name: 'Lots', exact: true }).dispatchEvent('click')
    await page.getByText('Your session is over').waitFor()
    assert.deepEqual(await accessibilityOf(page), [])
    const people = (await (await asOperator(shop, '/operator/operators')).json()) as {
      operators: { id: string; name: string }[]
    }
    const { id } = people.operators.find(({ name }) => name === 'Sol')!
    const again = (await (await asOperator(shop, `/operator/operators/${id}/link`, post({}))).json()) as {
      link: { url: string }
    }
    await page.getByLabel('Token or one-time link').fill(again.link.url)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('Banner Fragment').waitFor()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await support.context.close()
  })

  test('while the shop cannot be reached the page says so and keeps what it knew', async () => {
    const seat = await seatFor(browser, shop, 'Nils', 'support')
    const { page } = seat
    await seat.go('/operator/orders')
    await seat.context.setOffline(true)
    await page.getByText('The shop cannot be reached.').waitFor()
    assert.ok((await page.locator('tbody tr').count()) > 0)
    await seat.context.setOffline(false)
    await page.getByText('The shop cannot be reached.').waitFor({ state: 'detached' })
    await seat.context.close()
  })

  describe('in the sandbox an operator practises', () => {
    const row = (page: Page, name: string | RegExp) =>
      page.locator('section[aria-label="A bad day"] li', { hasText: name })
    const toast = (page: Page, words: string) => page.locator('.toast', { hasText: words }).waitFor()

    test('orders that go well, that the game refuses and that the chain refuses, there to be looked at', async () => {
      const { page, faults } = mara
      await mara.move('/operator/practice')
      const told = (scene: string) => page.locator('section[aria-label="What came of it"] li', { hasText: scene })
      await page.getByRole('button', { name: /^Run the demo/ }).click()
      for (const [scene, outcome] of [
        ['A good order', 'Delivered'],
        ['An NFT is sold', 'Delivered'],
        ['The game refuses', 'The full amount was sent back'],
        ['The mint reverts', 'The full amount was sent back'],
        ['Sold out', 'sold_out'],
      ] as const) {
        // By each protocol.
        for (const nth of [0, 1]) await told(scene).nth(nth).getByText(outcome).waitFor()
      }
      await page.getByRole('button', { name: /^The game refuses/ }).click()
      await told('The game refuses').nth(3).waitFor()
      await page.getByRole('link', { name: 'Look at it', exact: true }).first().click()
      await page.getByText('Not deliverable').first().waitFor()
      faults.length = 0
    })

    test('a chain goes down: nothing is sold by it, the console stays up and says so; then it is back', async () => {
      const { page, faults } = mara
      const chainId = shop.chains.native.chainId
      const asked = async () =>
        (await fetch(`${shop.url}/agentic/x402/buy`, post({ saleId: 392, beneficiary: buyer.address }))).status
      await mara.move('/operator/practice')
      await row(page, `Chain ${chainId}`).getByRole('button', { name: 'Take it down', exact: true }).click()
      await toast(page, 'The chain is down')
      await row(page, `Chain ${chainId}`).getByText('cannot reach it').waitFor()
      await until(async () => (await asked()) === 503)
      for (const place of ['/operator/system', '/operator/wallets', '/operator/money', '/operator']) {
        await mara.go(place)
        assert.equal(await page.getByRole('alert').count(), 0, place)
      }
      await page.locator('section[aria-label="Checks"] .status.bad').first().waitFor()
      await mara.move('/operator/practice')
      await row(page, `Chain ${chainId}`).getByRole('button', { name: 'Bring it back', exact: true }).click()
      await toast(page, 'The chain is back')
      await until(async () => (await asked()) === 402)
      faults.length = 0
    })
  })

  test('a dialog keeps the focus, in the order in which it is read, and gives it back', async () => {
    const { page } = mara
    await mara.move(`/operator/orders/${orders['minted']}`)
    const opener = page.getByRole('button', { name: 'Refund…', exact: true })
    await opener.focus()
    await page.keyboard.press('Enter')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Left after').waitFor()
    const focused = () =>
      page.evaluate(() => {
        const { tagName, textContent } = document.activeElement!
        return tagName === 'TEXTAREA' ? 'Reason' : tagName === 'BUTTON' ? textContent! : tagName
      })
    await until(async () => (await focused()) === 'Reason')
    const order: string[] = []
    for (let step = 0; step < 4; step++) {
      await page.keyboard.press('Tab')
      order.push(await focused())
    }
    // The browser's own frame stands between the last and the first.
    assert.deepEqual(
      order.filter((name) => name !== 'BODY'),
      ['Leave it', 'Send 0.25 pathUSD back', 'Reason', 'Leave it'].slice(
        0,
        order.filter((name) => name !== 'BODY').length,
      ),
    )
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await until(() => opener.evaluate((node) => node === document.activeElement))
  })

  test('new rows are announced to whoever hears the page', async () => {
    const { page } = mara
    await mara.move('/operator/live')
    const isHeard = (how: string) => page.locator(`[role="log"][aria-live="${how}"]`).waitFor()
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
    await isHeard('polite')
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Go on', exact: true }).waitFor()
    await isHeard('off')
    await x402Payer(buyer)(`${shop.url}/shop/x402/buy`, post({ itemId: 'keys:5', nickname: 'Demo' }))
    await page
      .getByRole('status')
      .getByRole('button', { name: /new, show$/ })
      .waitFor()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor()
  })

  test('keys open and close what lies over the page, and can be turned off', async () => {
    const { page } = mara
    await mara.move('/operator/orders')
    const theme = () => page.evaluate(() => document.documentElement.dataset['theme'])
    const before = await theme()
    await page.keyboard.press('t')
    await until(async () => (await theme()) !== before)
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').waitFor()
    assert.deepEqual(await accessibilityOf(page), [])
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.keyboard.press('?')
    await page.getByText('Single keys do something').waitFor()
    assert.deepEqual(await accessibilityOf(page), [])
    await page.getByRole('checkbox').uncheck()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const chosen = await theme()
    await page.keyboard.press('t')
    assert.equal(await theme(), chosen)
    await page.evaluate(() => localStorage.clear())
  })
})
