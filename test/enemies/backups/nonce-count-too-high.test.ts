import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { silentLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config } from '../../../src/config/config.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { AT_ONCE, buy, buyUrl, impatiently, LOT, payFor, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPushUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { openBackup } from '../../support/database.ts'
import { startShop, type TestShop } from '../../support/shop.ts'

for (const isLiar of [false, true])
  test(`E57: ${isLiar ? 'one of two nodes that counts too many once' : 'an honest node'} does not hide that a store is an older copy`, async (t) => {
    let lies = isLiar
    const raised =
      (transport: RpcTransport): RpcTransport =>
      async (request, max) => {
        const answer = await transport(request, max)
        return lies && request.method === 'eth_getTransactionCount'
          ? { ...(answer as object), result: '0x100' }
          : answer
      }
    const shop = await startShop({ withoutWorker: true, wrapTransport: (_id, one) => [raised(one), one] })
    lies = false
    const backup = await openBackup()
    t.after(async () => {
      await shop.stop()
      await backup.drop()
    })
    const buyer = await fundedWallet(shop)
    // The journal knows the key from before.
    assert.equal((await buy(shop, mppPushUnderTest, buyer)).response.status, 200)
    await copyDatabase(shop.store.db, backup.db, silentLog)
    await backup.db.query(`update tills set birth = store_birth() || ' '`)
    await backup.db.query('delete from witnesses')
    const { credential, response } = await buy(shop, mppPushUnderTest, buyer)
    assert.equal(response.status, 200)
    const restored = await shop.replica({ database: backup.db, configure: impatiently })
    const request = { ...LOT, beneficiary: buyer.address }
    const again = await fetch(`${restored.url}/agentic/mpp/buy`, post(request, { authorization: credential }))
    const { code } = (await again.json()) as { code?: string }
    assert.deepEqual([again.status, code], [409, 'payment_conflict'])
  })

const K2 = new Secret(generatePrivateKey())
const withTreasury = (config: Config) =>
  impatiently({ ...config, x402: { ...config.x402!, treasuryKey: K2 }, mpp: { ...config.mpp!, treasuryKey: K2 } })

async function sendByHand(shop: TestShop, key: Secret): Promise<void> {
  const account = privateKeyToAccount(key.reveal() as `0x${string}`)
  const { native } = shop.chains
  const nonce = Number(await native.request({ method: 'eth_getTransactionCount', params: [account.address, 'latest'] }))
  const raw = await account.signTransaction({
    chainId: native.chainId,
    nonce,
    to: account.address,
    value: 0n,
    gas: 21_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
  })
  await native.request({ method: 'eth_sendRawTransaction', params: [raw] })
}

async function begin(t: TestContext) {
  const shop = await startShop({ withoutWorker: true })
  t.after(() => shop.stop())
  const key = shop.config.game.sale!.minterKey
  const old = shop.config.x402!.treasuryKey
  assert.ok(key instanceof Secret && old instanceof Secret)
  return { shop, buyer: await fundedWallet(shop), old }
}

test('E57: whoever has stolen a key that was replaced cannot make a shop set money aside at every start', async (t) => {
  const { shop, buyer, old } = await begin(t)
  // The rotation, known to the store; and a start after it.
  await shop.replica({ configure: withTreasury })
  await shop.replica({ configure: withTreasury })
  const answers: number[] = []
  for (let starts = 0; starts < 3; starts++) {
    await sendByHand(shop, old)
    const { request, credential } = await payFor(shop, mppPushUnderTest, buyer)
    const { url } = await shop.replica({ configure: withTreasury })
    const sent = await fetch(buyUrl({ ...shop, url }, mppPushUnderTest), post(request, { authorization: credential }))
    answers.push(sent.status)
  }
  assert.deepEqual(answers, [200, 200, 200])
})

test('E57: what was ours in a key that was replaced, and is moved to the till, does not go back to that key', async (t) => {
  const { shop, old } = await begin(t)
  const replica = await shop.replica({ configure: withTreasury })
  const account = privateKeyToAccount(old.reveal() as `0x${string}`)
  const { native } = shop.chains
  const { asset, payTo } = shop.config.x402!
  const amount = 5_000_000n
  const balance = () => x402UnderTest.balance(shop, account.address)
  const before = await balance()
  const nonce = Number(await native.request({ method: 'eth_getTransactionCount', params: [account.address, 'latest'] }))
  const raw = await account.signTransaction({
    chainId: native.chainId,
    nonce,
    to: asset,
    data: `0xa9059cbb${payTo.slice(2).toLowerCase().padStart(64, '0')}${amount.toString(16).padStart(64, '0')}`,
    gas: 120_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 1n,
  })
  await native.request({ method: 'eth_sendRawTransaction', params: [raw] })
  assert.equal(await balance(), before - amount)
  await fundedWallet(shop, 1_000n, privateKeyToAccount(K2.reveal() as `0x${string}`))
  for (let look = 0; look < 3; look++) await reconcileRail({ service: replica }, x402UnderTest, AT_ONCE)
  assert.equal(await balance(), before - amount)
})
