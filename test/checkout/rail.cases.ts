import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import { fundedWallet, post } from '../support/buyers.ts'
import { edited, type RailUnderTest } from '../support/credentials.ts'
import { nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'

type Bought = {
  orderId: string
  status: string
  paymentTx: string
  statusUrl: string
  nfts: { contract: `0x${string}`; tokenId: string }[]
}
type Refused = {
  code: string
  payment: { taken: boolean | 'unknown' }
  retry: { action: string; statusUrl: string | null }
  orderId?: string
  refund?: { status: string }
}

const PRICE = 250_000n

/** What every rail must do, whatever its protocol. Both rails, and both ways to pay on MPP, run these same cases. */
export function railCases(rail: RailUnderTest): void {
  describe(rail.name, () => {
    let shop: TestShop
    let buyer: PrivateKeyAccount
    before(async () => {
      // The storm of M-02 is about money, not about how often a payment may be shown.
      shop = await startShop({ env: { SUTLER_RATE_REPLAY: '1000' } })
      buyer = await fundedWallet(shop)
    })
    after(() => shop.stop())

    const url = () => `${shop.url}/agentic/${rail.rail}/buy`
    const lot = (more: object = {}) => ({ saleId: 392, beneficiary: buyer.address, ...more })
    const orders = async () =>
      Number((await shop.store.db.query<{ n: string }>('select count(*) as n from orders')).rows[0]!.n)
    const send = (body: unknown, credential: string, headers: Record<string, string> = {}) =>
      fetch(url(), post(body, { [rail.header]: credential, ...headers }))
    /** A slow machine says 202 first; the same payment again asks for the end. */
    const answered = async (body: unknown, credential: string): Promise<Response> => {
      const response = await send(body, credential)
      return response.status === 202 ? answered(body, credential) : response
    }
    const credentialFor = async (body: unknown, payer = buyer) => rail.pay(shop, payer, await fetch(url(), post(body)))
    const refused = async (response: Response) => (await response.json()) as Refused

    /** Runs `work` and tells how many times the price reached the till. */
    async function paymentsDuring(work: () => Promise<unknown>): Promise<bigint> {
      const before = await rail.till(shop)
      await work()
      return ((await rail.till(shop)) - before) / PRICE
    }

    test('an unpaid call is answered 402 with a challenge, is not cached, and writes nothing', async () => {
      verifies('D5.1')
      const before = await orders()
      const response = await fetch(url(), post(lot()))
      assert.equal(response.status, 402)
      assert.ok(response.headers.get(rail.challengeHeader))
      assert.equal(response.headers.get('cache-control'), 'no-store')
      assert.equal(response.headers.get('content-type'), 'application/json')
      const body = await refused(response)
      assert.deepEqual([body.code, body.payment.taken, body.retry.action], ['payment_required', false, 'new_payment'])
      assert.equal(await orders(), before)
    })

    test('M-01: the same payment again gets the same bytes and the same receipt, and is taken once', async () => {
      verifies('D5.2', 'D6.5')
      const credential = await credentialFor(lot())
      const payments = await paymentsDuring(async () => {
        const first = await send(lot(), credential)
        assert.equal(first.status, 200)
        const again = await send(lot(), credential)
        assert.equal(again.status, 200)
        assert.equal(await again.text(), await first.text())
        assert.ok(first.headers.get(rail.receiptHeader))
        assert.equal(again.headers.get(rail.receiptHeader), first.headers.get(rail.receiptHeader))
        assert.equal(first.headers.get('idempotent-replayed'), null)
        assert.equal(again.headers.get('idempotent-replayed'), 'true')
      })
      // A pushed payment moved before the first call.
      assert.equal(payments, rail.name === 'mpp push' ? 0n : 1n)
    })

    test('M-02: fifty identical calls at once are one order, one payment and one mint', async () => {
      const before = await orders()
      const credential = await credentialFor(lot())
      const answers = await Promise.all(Array.from({ length: 50 }, () => answered(lot(), credential)))
      const bodies = await Promise.all(answers.map((answer) => answer.json() as Promise<Bought>))
      assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.equal(new Set(bodies.map(({ orderId }) => orderId)).size, 1)
      assert.equal(new Set(bodies.map(({ nfts }) => nfts[0]!.tokenId)).size, 1)
      assert.equal((await orders()) - before, 1)
    })

    test('I1: the same payment in another spelling is the same payment', async () => {
      const credential = await credentialFor(lot())
      const first = await send(lot(), credential)
      assert.equal(first.status, 200)
      const respelt = edited(credential, (value) => Object.fromEntries(Object.entries(value).reverse()))
      assert.notEqual(respelt, credential)
      const again = await send(lot(), respelt)
      assert.equal(again.status, 200)
      assert.equal(await again.text(), await first.text())
    })

    test('M-03: a used payment buys nothing else, here or on another route', async () => {
      verifies('D5.2')
      const credential = await credentialFor(lot())
      assert.equal((await send(lot(), credential)).status, 200)
      const other = await send(lot({ quantity: 2 }), credential)
      assert.equal(other.status, 409)
      const body = await refused(other)
      assert.deepEqual([body.code, body.payment.taken], ['payment_conflict', true])
      // Nothing about the first order is told to whoever shows its payment for something else.
      assert.equal(body.orderId, undefined)
      assert.match(body.retry.statusUrl ?? '', /\/payments\/(?!ord)/)
    })

    test('a request that can never work is refused before it is priced', async () => {
      verifies('D5.3', 'D5.4')
      for (const [body, status, code] of [
        [{ ...lot(), beneficiary: '0x12' }, 400, 'invalid_request'],
        [{ ...lot(), colour: 'red' }, 400, 'unknown_property'],
        [{ ...lot(), saleId: 999_999 }, 404, 'sale_not_found'],
        [{ ...lot(), saleId: 398 }, 409, 'sold_out'],
      ] as const) {
        const response = await fetch(url(), post(body))
        assert.equal(response.status, status)
        const refusal = await refused(response)
        assert.deepEqual([refusal.code, refusal.payment.taken], [code, false])
        assert.equal(response.headers.get(rail.challengeHeader), null)
      }
    })

    test('the price question of an empty body is answered with the lowest price', async () => {
      verifies('D5.3')
      for (const init of [post(''), post({}), { method: 'GET' }]) {
        const response = await fetch(url(), init.body === '' ? { method: 'POST' } : init)
        assert.equal(response.status, 402)
        assert.ok(response.headers.get(rail.challengeHeader))
      }
    })

    test('a GET never sells', async () => {
      verifies('D2.1')
      const before = await orders()
      const credential = await credentialFor(lot())
      const response = await fetch(url(), { headers: { [rail.header]: credential } })
      assert.equal(response.status, 405)
      assert.equal(await orders(), before)
    })

    test('a caller’s own key makes a second payment harmless', async () => {
      verifies('D5.12')
      const key = `key-${rail.name.replace(' ', '-')}-0001`
      const first = await send(lot(), await credentialFor(lot()), { 'idempotency-key': key })
      assert.equal(first.status, 200)
      const before = await rail.balance(shop, buyer.address)
      const second = await send(lot(), await credentialFor(lot()), { 'idempotency-key': key })
      if (rail.name === 'mpp push') {
        // The second payment had moved already: it comes back in full.
        assert.equal(second.status, 409)
        assert.equal((await refused(second)).refund?.status, 'refunded')
      } else {
        assert.equal(second.status, 200)
        assert.equal(second.headers.get('idempotent-replayed'), 'true')
        assert.equal(await second.text(), await first.text())
        assert.equal(await rail.balance(shop, buyer.address), before)
        const other = await send(lot({ quantity: 2 }), await credentialFor(lot({ quantity: 2 })), {
          'idempotency-key': key,
        })
        assert.deepEqual([other.status, (await refused(other)).code], [409, 'idempotency_conflict'])
      }
    })

    test('the status of a purchase can be read by everything its payer holds', async () => {
      verifies('D2.3', 'D2.5', 'D6.4')
      const credential = await credentialFor(lot())
      const bought = (await (await send(lot(), credential)).json()) as Bought
      const handles = [bought.orderId, bought.paymentTx, bought.paymentTx.toUpperCase().replace('0X', '0x')]
      for (const handle of handles) {
        const status = await fetch(`${shop.url}/agentic/${rail.rail}/purchases/${handle}`)
        assert.equal(status.status, 200)
        assert.equal(((await status.json()) as Bought).status, 'confirmed')
        const payment = await fetch(`${shop.url}/payments/${handle}`)
        assert.equal(payment.status, 200)
        assert.equal(((await payment.json()) as Refused).payment.taken, true)
      }
      assert.equal((await fetch(bought.statusUrl)).status, 200)
      assert.equal((await fetch(`${shop.url}/payments/0x${'00'.repeat(32)}`)).status, 404)
    })

    test('F-01: a mint that fails for good sends the whole price back', async () => {
      verifies('D12.5')
      const body = lot({ saleId: 399 })
      const before = await rail.balance(shop, buyer.address)
      const response = await send(body, await credentialFor(body))
      const status = `${shop.url}/agentic/${rail.rail}/purchases/`
      const { orderId, code, payment } = await refused(response)
      assert.equal(response.status === 202 || response.status === 409, true)
      assert.ok(code === 'fulfilment_failed' || code === 'action_pending')
      assert.equal(payment.taken, true)
      await until(async () => (await fetch(status + orderId)).status === 200)
      const end = (await (await fetch(status + orderId)).json()) as { status: string; refund: { transaction: string } }
      assert.equal(end.status, 'refunded')
      const fees = rail.rail === 'mpp' ? 100_000n : 0n
      assert.ok(before - (await rail.balance(shop, buyer.address)) <= fees)
    })

    test('E6: a beneficiary that cannot receive is refused before payment', async () => {
      const body = lot({ beneficiary: shop.world.contracts.craftController })
      const before = await rail.till(shop)
      const response = await send(body, await credentialFor(body))
      if (rail.name === 'mpp push') assert.equal(response.status, 409)
      else {
        assert.equal(response.status, 400)
        assert.equal(await rail.till(shop), before)
      }
    })

    test('the minted NFT belongs to the beneficiary', async () => {
      const { nfts } = (await (await send(lot(), await credentialFor(lot()))).json()) as Bought
      const owner = await nftOwner(shop.chains.native, nfts[0]!.contract, nfts[0]!.tokenId)
      assert.equal(owner.toLowerCase(), buyer.address.toLowerCase())
    })
  })
}
