import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Hash } from '../../../src/base/address.ts'
import { fromHex, toHex } from '../../../src/base/hex.ts'
import { keccak256 } from '../../../src/base/keccak.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { nftsOf } from '../../crash/flows.ts'
import { buy, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { AS_FAR_AS_IT_CAN_MS, plainTransports, startShop } from '../../support/shop.ts'
import { step } from '../support/stepped-shop.ts'

// E15, and then E20: a replica with the new key learns from the contract that the old one has delivered, perhaps before a node shows which
// transaction it was. Is that delivery watched like any other?

for (const { title, isShown } of [
  { title: 'E20: a mint of the old key that a replica with the new one found on the contract', isShown: true },
  { title: 'E20: a mint of the old key whose receipt was late', isShown: false },
])
  test(`${title} is brought back when the chain drops it`, async (t) => {
    let isForgotten = false
    const shop = await startShop({
      withoutWorker: true,
      waypoint(name) {
        isForgotten ||= name === 'deliver.begun'
      },
      wrapTransport: (_chainId, transport) => async (request, max) => {
        if (!isForgotten || request.method !== 'eth_sendRawTransaction') return transport(request, max)
        return { jsonrpc: '2.0', id: request.id, result: toHex(keccak256(fromHex(request.params[0] as Hex))) }
      },
      configure: (config) => ({
        ...config,
        limits: { ...config.limits, leaseSeconds: 1, waitMsMax: AS_FAR_AS_IT_CAN_MS, receiptWaitMs: 300 },
      }),
    })
    t.after(() => shop.stop())
    const { native } = shop.chains
    const buyer = await fundedWallet(shop)
    const tokens = () => nftsOf(shop.chains, shop.world.contracts.sale, buyer.address)
    const { body } = await buy(shop, x402UnderTest, buyer)
    const { rows } = await shop.store.db.query<{ versions: { raw: Hex; hash: Hash }[] }>(
      `select versions from sends where order_id = $1 and step = 'mint'`,
      [body.orderId],
    )
    const { raw, hash } = rows[0]!.versions[0]!
    const key = generatePrivateKey()
    await fundedWallet(shop, 1n, privateKeyToAccount(key))
    let isLate = !isShown
    const plain = plainTransports(shop.chains)
    const node = plain.get(native.chainId) as RpcTransport
    const late: RpcTransport = async (request, max) => {
      const isHidden = isLate && request.method === 'eth_getTransactionReceipt' && request.params[0] === hash
      return isHidden ? { jsonrpc: '2.0', id: request.id, result: null } : node(request, max)
    }
    const service = await shop.replica({
      configure: (config) => ({
        ...config,
        game: { ...config.game, sale: { ...config.game.sale!, minterKey: new Secret(key) } },
      }),
      transports: new Map([...plain, [native.chainId, late]]),
    })
    const successor = { ...shop, service }
    await native.request({ method: 'eth_sendRawTransaction', params: [raw] })
    if (isLate) await step(successor, body.orderId)
    isLate = false
    assert.equal((await step(successor, body.orderId)).status, 'confirmed')
    assert.equal(await tokens(), 1)
    await native.request({ method: 'dev_reorg', params: ['0x1', { drop: hash }] })
    assert.equal(await tokens(), 0)
    const named: string[] = []
    for (let look = 0; look < 3; look++)
      named.push(...(await reconcileRail(successor, x402UnderTest)).items.map(({ kind }) => kind))
    assert.deepEqual({ tokens: await tokens(), named }, { tokens: 1, named: ['delivery_missing'] })
  })
