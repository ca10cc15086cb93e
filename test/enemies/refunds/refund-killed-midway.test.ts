import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { Secret } from '../../../src/base/secret.ts'
import type { WaypointName } from '../../../src/base/waypoint.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import type { Service } from '../../../src/service/service.ts'
import { setLot } from '../../checkout/counter.ts'
import { nftsOf, transfers } from '../../crash/flows.ts'
import { buy, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, startShop, type TestShop } from '../../support/shop.ts'
import { buyByHand, step, withChains } from '../support/stepped-shop.ts'

// A failed payment comes back after its goods were sold to somebody else; whoever works on it dies at each step, the next one has another
// treasury, and an operator asks for the refund all the time.

let shop: TestShop
let other: Service
let dies: WaypointName | null = null
const key = generatePrivateKey()
before(async () => {
  const waypoint = (name: WaypointName) => {
    if (name !== dies) return
    dies = null
    throw new Error('the process ends here')
  }
  shop = await startShop({
    withoutWorker: true,
    waypoint,
    configure: (config) => {
      const limits = { ...config.limits, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 200, leaseSeconds: 1 }
      return withChains({ ...config, limits }, { burial: { blocks: 50n, ms: 0 } })
    },
  })
  for (let saleId = 800; saleId < 830; saleId++) await setLot(shop, saleId, { price: '0.25', supply: 1n })
  await fundedWallet(shop, 1_000n, privateKeyToAccount(key))
  const treasuryKey = new Secret(key)
  other = await shop.replica({
    waypoint,
    configure: (config) => ({
      ...config,
      x402: { ...config.x402!, treasuryKey },
      mpp: { ...config.mpp!, treasuryKey },
    }),
  })
})
after(() => shop.stop())

const STEPS = [
  'settle.begun',
  'settle.done',
  'order.settled',
  'order.failed',
  'refund.created',
  'send.signed',
  'send.journaled',
  'send.broadcast',
  'send.mined',
  'refund.done',
  'order.refunded',
] as const satisfies readonly WaypointName[]

// By turns: from here on the rails do the same.
const RAILS = [x402UnderTest, mppPullUnderTest] as const

let lot = 800
for (const [nth, name] of STEPS.entries())
  for (const rail of [RAILS[nth % 2]!])
    test(`F-04: by ${rail.name}, and whoever works on it dies at ${name}`, async () => {
      const saleId = lot++
      const chain = rail.rail === 'x402' ? shop.chains.native : shop.chains.tempo
      const ask = (method: string, ...params: unknown[]) => chain.request({ method, params })
      const [late, honest] = [await fundedWallet(shop), await fundedWallet(shop)]
      const token = rail.rail === 'x402' ? shop.config.x402!.asset : shop.config.mpp!.currency.address
      await ask('dev_fault', { kind: 'revert', to: token })
      const { body } = await buy(shop, rail, late, { saleId })
      assert.equal(body.status, 'settling')
      const failedIn = Number(await ask('eth_blockNumber'))
      await buyByHand(shop, rail, honest, { saleId })
      await ask('dev_reorg', Number(await ask('eth_blockNumber')) - failedIn + 1)
      dies = name
      let status = ''
      for (let turn = 0; turn < 12 && status !== 'refunded'; turn++) {
        const service = turn % 2 === 0 ? shop.service : other
        await step({ ...shop, service }, body.orderId).catch(() => {})
        await refundOrder(service.checkout, body.orderId, { reason: 'impatience', by: 'ada' }).catch(() => {})
        status = (await service.checkout.orders.byId(body.orderId))!.status
      }
      dies = null
      assert.equal(status, 'refunded')
      for (let look = 0; look < 2; look++)
        for (const service of [shop.service, other]) await reconcileRail({ service }, rail, { returnAfterSeconds: 0 })
      const treasuries = [demoAddressOf('treasury'), privateKeyToAccount(key).address]
      const back = await Promise.all(treasuries.map((from) => transfers(shop, rail, from, late.address)))
      assert.deepEqual(back.flat(), [250_000n])
      const owned = [late, honest].map(({ address }) => nftsOf(shop.chains, shop.world.contracts.sale, address))
      assert.deepEqual(await Promise.all(owned), [0, 1])
    })
