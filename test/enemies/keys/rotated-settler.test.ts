import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { encodeFunctionData, erc20Abi, type Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { fromHex, toHex } from '../../../src/base/hex.ts'
import { keccak256 } from '../../../src/base/keccak.ts'
import { Secret } from '../../../src/base/secret.ts'
import { giveGas, giveToken } from '../../../src/sandbox/world.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, plainTransports, startShop, type TestShop } from '../../support/shop.ts'
import { step, withChains } from '../support/stepped-shop.ts'

// The settler's key is rotated replica by replica. What the old one has signed may land until the payment runs out, whatever became of
// what the new one has signed.

async function startForgetful(t: TestContext): Promise<TestShop> {
  const shop = await startShop({
    withoutWorker: true,
    wrapTransport: (_chainId, transport) => async (request, max) => {
      if (request.method !== 'eth_sendRawTransaction') return transport(request, max)
      return { jsonrpc: '2.0', id: request.id, result: toHex(keccak256(fromHex(request.params[0] as Hex))) }
    },
    configure: (config) => {
      const limits = { ...config.limits, leaseSeconds: 1, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 }
      return withChains({ ...config, limits }, { burial: { blocks: 3n, ms: 0 } })
    },
  })
  t.after(() => shop.stop())
  return shop
}

test('E44: a payment that the old settler has signed is not said to be free because that of the new one reverted', async (t) => {
  const shop = await startForgetful(t)
  const buyer = await fundedWallet(shop, 1n)
  const before = await x402UnderTest.till(shop)
  const { response, body } = await buy(shop, x402UnderTest, buyer)
  assert.equal(response.status, 202)
  // For a moment the wallet is empty.
  const { asset } = shop.config.x402!
  const all = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [asset, 1_000_000n] })
  await sendFrom(shop.chains.native, buyer, asset, all)
  const key = generatePrivateKey()
  await giveGas(shop.chains.native, privateKeyToAccount(key).address, 10n ** 18n)
  const service = await shop.replica({
    configure: (config) => ({
      ...config,
      x402: { ...config.x402!, facilitator: { kind: 'inproc', settlerKey: new Secret(key) } },
    }),
    transports: plainTransports(shop.chains),
  })
  assert.equal((await step({ ...shop, service }, body.orderId)).status, 'settling')
  for (let block = 0; block < 3; block++) await shop.chains.native.request({ method: 'evm_mine' })
  const { status } = await step({ ...shop, service }, body.orderId)
  await giveToken(shop.chains.native, asset, buyer.address, 1_000_000n)
  // The replica with the old key looks after its lane, or some node has had the bytes all the time.
  const { rows } = await shop.store.db.query<{ versions: { raw: Hex }[] }>(
    `select versions from sends where order_id = $1 order by created_at limit 1`,
    [body.orderId],
  )
  const bytes = rows[0]!.versions[0]!.raw
  await shop.chains.native.request({ method: 'eth_sendRawTransaction', params: [bytes] }).catch(() => {})
  const taken = (await x402UnderTest.till(shop)) - before
  assert.notDeepEqual({ status, taken }, { status: 'expired', taken: 250_000n })
})
