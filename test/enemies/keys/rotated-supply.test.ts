import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { saleLots } from '../../../src/artifacts/SaleLots.ts'
import { Secret } from '../../../src/base/secret.ts'
import { invocation, roleId } from '../../../src/chain/act.ts'
import { setLot } from '../../checkout/counter.ts'
import { buy, buyUrl, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// What the old minter has minted is among our own holds, and counts as somebody else's as well.

test('F-03: a lot is not sold out because another key mints by now', async (t) => {
  const shop = await startShop({ withoutWorker: true })
  t.after(() => shop.stop())
  await setLot(shop, 777, { price: '0.25', supply: 4n })
  const buyer = await fundedWallet(shop)
  for (let sold = 0; sold < 2; sold++)
    assert.equal((await buy(shop, x402UnderTest, buyer, { saleId: 777 })).response.status, 200)
  const key = generatePrivateKey()
  const minter = await fundedWallet(shop, 1n, privateKeyToAccount(key))
  await shop.world.deployer.act(
    invocation(shop.world.contracts.sale, saleLots.abi, 'grantRole', [roleId('MINTER_ROLE'), minter.address]),
  )
  const service = await shop.replica({
    configure: (config) => ({
      ...config,
      game: { ...config.game, sale: { ...config.game.sale!, minterKey: new Secret(key) } },
    }),
  })
  const successor = { ...shop, service, url: service.url }
  const paid = []
  for (let asked = 0; asked < 3; asked++) paid.push(await payFor(successor, x402UnderTest, buyer, { saleId: 777 }))
  const answers: number[] = []
  for (const { request, credential } of paid) {
    const headers = { [x402UnderTest.header]: credential }
    answers.push((await fetch(buyUrl(successor, x402UnderTest), post(request, headers))).status)
  }
  // Two are left, whoever minted the others.
  assert.deepEqual(answers, [200, 200, 409])
})
