import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Hex } from '../../src/base/hex.ts'
import type { Config } from '../../src/config/config.ts'
import { type SandboxRole, sandboxKey } from '../../src/config/published.ts'
import type { ChainKey } from '../../src/config/signing-key.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { type Behaviour, type StandIn, startWeb3Signer } from '../support/web3signer.ts'
import { asOperator, buy, LOT_PRICE, payFor, status } from './desk.ts'

// A shop that has none of its keys: settlements, mints and refunds on both chains are signed by another process.

const ROLES: readonly SandboxRole[] = ['settler', 'treasury', 'minter', 'crafter']

let signer: StandIn
let shop: TestShop
let buyer: PrivateKeyAccount
const cleanups: (() => unknown)[] = []

before(async () => {
  const keys = ROLES.map((role) => sandboxKey(role).reveal() as Hex)
  signer = await startWeb3Signer({ after: (done) => void cleanups.push(done as () => unknown) }, keys)
  shop = await startShop({ configure: (config) => keyless(config, signer.url) })
  buyer = await fundedWallet(shop)
})
after(async () => {
  await shop.stop()
  for (const done of cleanups) await done()
})

function keyless(config: Config, url: string): Config {
  const at = (role: SandboxRole): ChainKey => ({ address: demoAddressOf(role), signer: { url, token: null } })
  const { x402, mpp, game } = config
  return {
    ...config,
    x402: { ...x402!, facilitator: { kind: 'inproc', settlerKey: at('settler') }, treasuryKey: at('treasury') },
    mpp: { ...mpp!, treasuryKey: at('treasury') },
    game: {
      ...game,
      sale: { ...game.sale!, minterKey: at('minter') },
      craft: { ...game.craft!, crafterKey: at('crafter') },
    },
  }
}

async function health(url: string): Promise<{ code: number; detail: string | undefined }> {
  const response = await fetch(`${url}/health/ready`)
  const { checks } = (await response.json()) as { checks: { name: string; status: string; detail: string }[] }
  const bad = checks.find(({ name, status }) => name === 'signers' && status !== 'ok')
  return { code: response.status, detail: bad?.detail }
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`${rail.name}: bought, minted and refunded with keys that the shop does not have`, async () => {
    const { response, body } = await buy(shop, rail, buyer)
    assert.deepEqual([response.status, body.status, body.nfts.length], [200, 'confirmed', 1])
    const before = await rail.balance(shop, buyer.address)
    const refund = post({ reason: 'a rehearsal', by: 'mara' })
    assert.equal((await asOperator(shop, `/operator/orders/${body.orderId}/refund`, refund)).status, 200)
    await until(async () => (await status(body.statusUrl)).status === 'refunded' || null)
    assert.equal((await rail.balance(shop, buyer.address)) - before, LOT_PRICE)
  })

/** Wrong in every way, before money moves: nothing is taken, and the same credential buys when the signer is well again. */
async function refusedMeanwhile(rail: RailUnderTest, how: Behaviour): Promise<void> {
  const { request, credential } = await payFor(shop, rail, buyer)
  const till = await rail.till(shop)
  await signer.behave(how)
  // Another replica has not seen the signer while it was well.
  const { url } = await shop.replica()
  const send = () => fetch(`${url}/agentic/${rail.rail}/buy`, post(request, { [rail.header]: credential }))
  const refused = await send()
  const problem = (await refused.json()) as { code: string; payment: { taken: unknown } }
  assert.deepEqual([refused.status, problem.code, problem.payment.taken], [503, 'signer_unavailable', false])
  assert.equal(await rail.till(shop), till, 'nothing was taken')
  const told = await health(url)
  assert.deepEqual([told.code, /minter: The signer of a key of the shop/.test(told.detail ?? '')], [200, true])
  assert.doesNotMatch(told.detail!, /0x/, 'health names no address')
  await signer.behave('well')
  await until(async () => (await health(url)).detail === undefined || null)
  assert.equal((await send()).status, 200)
  // The first replica may have looked at itself meanwhile, and the next buyer asks that one for a price.
  await until(async () => (await health(shop.url)).detail === undefined || null)
}

for (const how of ['other-key', 'refuse'] as const)
  for (const rail of [x402UnderTest, mppPullUnderTest])
    test(`${rail.name}: a signer that does ${how} is told before money moves, and by health`, () =>
      refusedMeanwhile(rail, how))

test('a signer that dies between the check and the mint delays the delivery, and nothing is lost', async () => {
  const { url } = await shop.replica({
    waypoint: async (name) => {
      if (name === 'order.settled') await signer.behave('refuse')
    },
  })
  const { request, credential } = await payFor(shop, mppPullUnderTest, buyer)
  const late = await fetch(`${url}/agentic/mpp/buy`, post(request, { authorization: credential }))
  assert.equal(late.status, 202, await late.clone().text())
  const { statusUrl } = (await late.json()) as { statusUrl: string }
  await signer.behave('well')
  await until(async () => (await status(statusUrl)).status === 'confirmed' || null)
})
