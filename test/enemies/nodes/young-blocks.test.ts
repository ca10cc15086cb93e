import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Hex } from 'viem'
import { fromHex, toHex } from '../../../src/base/hex.ts'
import { keccak256 } from '../../../src/base/keccak.ts'
import { movableClock } from '../../checkout/counter.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { type ShopOptions, startShop, type TestShop } from '../../support/shop.ts'
import { type BURIAL, step, withChains } from '../support/stepped-shop.ts'

// E44 in other places: the time, the depth or the receipt by which a payment counts as free is that of a block which may go away again.

const CASES = [
  { rail: x402UnderTest, chain: 'native', tokenOf: ({ config }: TestShop) => config.x402!.asset },
  { rail: mppPullUnderTest, chain: 'tempo', tokenOf: ({ config }: TestShop) => config.mpp!.currency.address },
] as const
type Case = (typeof CASES)[number]

async function start(
  t: TestContext,
  wrapTransport: NonNullable<ShopOptions['wrapTransport']>,
  burial: typeof BURIAL = { blocks: 3n, ms: 0 },
) {
  const clock = movableClock()
  const shop = await startShop({
    clock,
    withoutWorker: true,
    wrapTransport,
    configure: (config) =>
      withChains({ ...config, limits: { ...config.limits, waitMsMax: 500, receiptWaitMs: 300 } }, { burial }),
  })
  t.after(() => shop.stop())
  return { shop, clock }
}

/** A purchase that nobody knows the end of yet. `end` says how the order stands after a look, and what was taken in the end. */
async function begin({ rail, chain, tokenOf }: Case, shop: TestShop, { reverts }: { readonly reverts: boolean }) {
  const ask = (method: string, ...params: unknown[]) => shop.chains[chain].request({ method, params })
  const buyer = await fundedWallet(shop)
  const before = await rail.till(shop)
  if (reverts) await ask('dev_fault', { kind: 'revert', to: tokenOf(shop) })
  const { body } = await buy(shop, rail, buyer)
  assert.equal(body.status, 'settling')
  const end = async (happens: () => Promise<unknown>) => {
    const { status } = await step(shop, body.orderId)
    await happens()
    return { status, taken: (await rail.till(shop)) - before }
  }
  return { ask, end }
}

const UNKNOWN_AND_TAKEN = { status: 'settling', taken: 250_000n }

for (const one of CASES) {
  const { rail } = one

  test(`E44: a payment by ${rail.name} that waits is not free because one young block bears a later time`, async (t) => {
    let raw: Hex = '0x'
    const { shop, clock } = await start(t, (_chainId, transport) => async (request, max) => {
      if (request.method !== 'eth_sendRawTransaction') return transport(request, max)
      raw = request.params[0] as Hex
      return { jsonrpc: '2.0', id: request.id, result: toHex(keccak256(fromHex(raw))) }
    })
    const { ask, end } = await begin(one, shop, { reverts: false })
    const snapshot = await ask('evm_snapshot')
    clock.move(1_000_000)
    await ask('evm_mine')
    // That block is replaced by one that was made earlier.
    const replaced = async () => {
      assert.equal(await ask('evm_revert', snapshot), true)
      await ask('evm_increaseTime', -1_000)
      await ask('eth_sendRawTransaction', raw)
    }
    assert.deepEqual(await end(replaced), UNKNOWN_AND_TAKEN)
  })

  test(`E44: a revert by ${rail.name} that only one of two nodes shows is not free because its time is over`, async (t) => {
    let hides = false
    const { shop, clock } = await start(t, (_chainId, transport) => [
      async (request, max) =>
        hides && request.method === 'eth_getTransactionReceipt'
          ? { jsonrpc: '2.0', id: request.id, result: null }
          : transport(request, max),
      transport,
    ])
    const { ask, end } = await begin(one, shop, { reverts: true })
    hides = true
    clock.move(1_000_000)
    await ask('evm_mine')
    assert.deepEqual(await end(() => ask('dev_reorg', '0x2')), UNKNOWN_AND_TAKEN)
  })
}
