import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Hex } from '../../../src/base/hex.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, senderDesk } from '../../support/sender-desk.ts'
import { startShop } from '../../support/shop.ts'

// A nonce that is too high leaves a gap before it, and the chain waits for ever for what nobody signed.

const FIVE = 5
const raised = async (ask: () => Promise<unknown>): Promise<Hex> => `0x${(Number(await ask()) + FIVE).toString(16)}`

test('M-21: one answer with a nonce that is too high does not block a shop', async (t) => {
  const meddler = createMeddler()
  const shop = await startShop({
    wrapTransport: meddler.wrap,
    configure: (config) => ({ ...config, limits: { ...config.limits, stuckAfterMs: 500, waitMsMax: 20_000 } }),
  })
  t.after(() => shop.stop())
  const lied = new Set<string>()
  meddler.meddle('eth_getTransactionCount', ([address = ''], ask) => {
    const isOurs = [demoAddressOf('settler'), demoAddressOf('minter')].some(
      (own) => own.toLowerCase() === address.toLowerCase(),
    )
    if (!isOurs || lied.has(address)) return ask()
    lied.add(address)
    return raised(ask)
  })
  const buyer = await fundedWallet(shop)
  for (let round = 0; round < 2; round++) assert.equal((await buy(shop, x402UnderTest, buyer)).response.status, 200)
  assert.equal(lied.size, 2)
})

describe('a node that counts too many', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  test('is not believed when the other one counts otherwise', async (t) => {
    const { sender, newErrand, meddler, landed, alarms } = await senderDesk(t, store, { hasSecondNode: true })
    meddler.meddle('eth_getTransactionCount', (_params, ask) => raised(ask))
    // It goes on lying, so the lane cannot tell what has landed; the receipt can.
    assert.equal((await (await sender()).send(await newErrand(), callOf(1))).state, 'mined')
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0],
    )
    assert.match(alarms.join(''), /counted more transactions of a key than there are/)
  })

  test('twice over makes a gap, and what stands behind it is signed again before it', async (t) => {
    const { sender, newErrand, meddler, landed } = await senderDesk(t, store)
    let lies = 2
    meddler.meddle('eth_getTransactionCount', (_params, ask) => (lies-- > 0 ? raised(ask) : ask()))
    const one = await sender({ waitMs: 8_000 })
    const errands = await Promise.all([newErrand(), newErrand()])
    const states = await Promise.all(errands.map((errand, n) => one.send(errand, callOf(n))))
    assert.deepEqual(
      states.map(({ state }) => state),
      ['mined', 'mined'],
    )
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0, 1],
    )
  })

  test('and one that counts too few makes no gap: nothing is filled that was used', async (t) => {
    const { sender, newErrand, meddler, landed, journal, wallet, fault } = await senderDesk(t, store)
    const first = await sender()
    for (let n = 0; n < 3; n++) assert.equal((await first.send(await newErrand(), callOf(n))).state, 'mined')
    // An older copy of the journal: it has forgotten the middle one, and the node is behind.
    await store.db.query('delete from sends where signer = $1 and nonce = 1', [wallet.address])
    // Who takes a nonce hears the truth; who looks at the row hears the past first, and the truth when they ask again.
    let isStale = true
    meddler.meddle('eth_getTransactionCount', async (_params, ask) => {
      isStale = !isStale
      return isStale ? '0x1' : ask()
    })
    await fault({ kind: 'drop' })
    const second = await sender({ waitMs: 3_000, stuckAfterMs: 60_000 })
    assert.equal((await second.send(await newErrand(), callOf(3))).state, 'mined')
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0, 1, 2, 3],
    )
    assert.equal((await journal.between(84532, wallet.address, 1, 2)).length, 0)
  })
})
