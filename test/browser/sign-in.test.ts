import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { asOperator } from '../operations/desk.ts'
import { type Added, addOperator, audit, tokenIn } from '../operations/people-desk.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { accessibilityOf } from './accessible.ts'
import { openContext, sharedBrowser } from './chromium.ts'
import { seatFor } from './console.ts'

const chromium = sharedBrowser()

// What a browser itself does with our cookie, our headers, and our links.
describe('signing in with a real browser', { skip: chromium.skip }, () => {
  let shop: TestShop
  let browser: Browser
  before(async () => {
    ;[shop, browser] = await Promise.all([startShop(), chromium.open()])
  })
  after(async () => {
    await chromium.leave()
    await shop.stop()
  })

  test('a link lets in; a page of another site cannot use the session', async () => {
    verifies('D17.7', 'O-07')
    // The pages at hand may not fetch by their own policy; the console's may.
    const context = await openContext(browser, { bypassCSP: true })
    const page = await context.newPage()
    await page.goto(`${shop.url}/catalog`)
    const call = (method: string, path: string, body: object | null = {}) =>
      page.evaluate(
        async ([method, path, body]) => {
          const headers = { 'content-type': 'application/json', 'x-sutler': 'console' }
          const response = await fetch(path!, { method: method!, headers, ...(body ? { body } : {}) })
          return { status: response.status, body: (await response.json()) as Record<string, unknown> }
        },
        [method, path, body && JSON.stringify(body)] as const,
      )
    const added = await addOperator(shop, 'Grace', 'support')
    assert.equal((await call('POST', '/operator/session', { token: tokenIn(added) })).status, 200)
    const [cookie] = await context.cookies()
    assert.deepEqual([cookie?.httpOnly, cookie?.sameSite], [true, 'Strict'])
    assert.equal(await page.evaluate(() => document.cookie), '', 'no script reads it')

    const me = (await call('GET', '/operator/me', null)).body as { operator: { name: string } }
    assert.equal(me.operator.name, 'Grace')

    // The same browser, at a page of another site: the cookie stays at home, and what is sent without leave is refused.
    const evil = await context.newPage()
    await evil.goto(shop.url.replace('localhost', '127.0.0.1').concat('/catalog'))
    const forged = await evil.evaluate(async (url) => {
      const ways: [string, RequestInit][] = [
        ['read', { method: 'GET' }],
        [
          'form',
          { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"name":"Mallory","role":"admin"}' },
        ],
        [
          'script',
          { method: 'POST', headers: { 'content-type': 'application/json', 'x-sutler': 'console' }, body: '{}' },
        ],
      ]
      const told: string[] = []
      for (const [way, init] of ways)
        told.push(
          await fetch(`${url}/operator/operators`, { ...init, credentials: 'include' }).then(
            (response) => `${way} ${response.type} ${response.status}`,
            () => `${way} refused`,
          ),
        )
      return told
    }, shop.url)
    assert.deepEqual(forged, ['read refused', 'form refused', 'script refused'])
    const operators = (await call('GET', '/operator/operators', null)).body.operators as { name: string }[]
    assert.deepEqual(
      operators.map(({ name }) => name),
      ['Grace'],
    )
    await context.close()
  })

  test('a link signs nobody in by being opened: it says whom it is for, and waits', async () => {
    verifies('D17.7', 'O-07')
    const victim = await seatFor(browser, shop, 'Victim', 'support')
    const mallory = await addOperator(shop, 'Mallory', 'admin')
    // From a page of another site, in the browser of somebody who is signed in.
    await victim.page.goto(`${shop.url.replace('localhost', '127.0.0.1')}/catalog`)
    await Promise.all([
      victim.page.waitForURL('**/operator/enter'),
      victim.page.evaluate((url) => location.assign(url), mallory.link.url),
    ])
    await victim.page.getByText('This link is for Mallory, admin').waitFor()
    await victim.page.getByText('You are signed in as Victim').waitFor()
    assert.deepEqual(await accessibilityOf(victim.page), [])
    await victim.page.goto(`${shop.url}/operator/people`)
    await victim.page.locator('#me').getByText('Victim').waitFor()
    const [begun] = await audit(shop, '&deed=session.begun')
    assert.equal(begun!.who, 'Victim', 'and nobody else was signed in')
    await victim.context.close()
  })

  test('a token is made and revoked in People; when the sign-in is an old one, another is asked for first', async () => {
    verifies('D17.11', 'D17.12')
    const seat = await seatFor(browser, shop, 'Tara', 'support')
    const { page } = seat
    await seat.go('/operator/people')
    await page.getByRole('button', { name: 'New token…', exact: true }).click()
    await page.getByLabel('What it is for').fill('Nightly report')
    await shop.store.db.query(`update operator_sessions set began_at = began_at - interval '15 minutes'`)
    await page.getByRole('button', { name: 'Make it', exact: true }).click()
    await page.getByRole('heading', { name: 'Sign in again for this', exact: true }).waitFor()
    await page.getByRole('button', { name: 'Not now', exact: true }).click()
    await page.getByText('Nothing was done').waitFor()
    await page.getByLabel('What it is for').fill('Nightly report')
    await page.getByRole('button', { name: 'Make it', exact: true }).click()
    const person = (await (await asOperator(shop, '/operator/operators')).json()) as { operators: Added[] }
    const { id } = person.operators.find(({ name }) => name === 'Tara')!
    const link = await (await asOperator(shop, `/operator/operators/${id}/link`, post({}))).json()
    await page.getByLabel('Token or one-time link').fill((link as Added).link.url)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    const token = (await page.getByLabel('Link', { exact: true }).textContent())!
    assert.match(token, /^spt_/)
    await page.getByRole('button', { name: 'Done', exact: true }).click()
    assert.deepEqual(await accessibilityOf(page), [])
    const me = () => fetch(`${shop.url}/operator/me`, { headers: { authorization: `Bearer ${token}` } })
    assert.equal((await me()).status, 200)
    const row = page.getByRole('listitem').filter({ hasText: 'Nightly report' })
    await row.getByRole('button', { name: 'Revoke…', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke it', exact: true }).click()
    await row.waitFor({ state: 'detached' })
    assert.equal((await me()).status, 401)
    await seat.context.close()
  })
})
