import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFunctionData } from 'viem'
import { saleLots } from '../../../src/artifacts/SaleLots.ts'
import { orderKey } from '../../../src/outbox/deliver-once.ts'
import { movableClock } from '../../checkout/counter.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { buyUrl, payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { mppPullUnderTest as rail } from '../../support/credentials.ts'
import { erc20Balance, startShop } from '../../support/shop.ts'
import { letGo, step } from '../support/stepped-shop.ts'

// What a contract remembers is asked of a node, and a node may be behind. Only what can never be otherwise again ends a delivery.

test('F-01: a mint that landed while it was given up is delivered, though the node that is asked about it is behind', async (t) => {
  const clock = movableClock()
  const meddler = createMeddler()
  const shop = await startShop({
    clock,
    withoutWorker: true,
    wrapTransport: meddler.wrap,
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 2_000, receiptWaitMs: 300 } }),
  })
  t.after(() => shop.stop())
  const { native } = shop.chains
  const { sale } = shop.world.contracts
  const buyer = await fundedWallet(shop)
  const { request, credential } = await payFor(shop, rail, buyer)

  const before = (await native.request({ method: 'eth_blockNumber' })) as string
  const isHere = (chainId: number) => chainId === native.chainId
  // The whole node is behind: it shows neither the receipt nor the nonce of the mint.
  const catchUp = [
    meddler.meddle('eth_getTransactionReceipt', async (_params, ask, chainId) => {
      const receipt = (await ask()) as { readonly to: string } | null
      return isHere(chainId) && receipt?.to.toLowerCase() === sale.toLowerCase() ? null : receipt
    }),
    meddler.meddle('eth_getTransactionCount', ([address], ask, chainId) =>
      isHere(chainId) ? native.request({ method: 'eth_getTransactionCount', params: [address, before] }) : ask(),
    ),
  ]
  const { orderId } = (await (
    await fetch(buyUrl(shop, rail), post(request, { [rail.header]: credential }))
  ).json()) as { orderId: string }
  await letGo(shop, orderId)
  assert.equal(await erc20Balance(native, sale, buyer.address), 1n)

  // Its time is over. The closing comes too late for its nonce, and the node that tells so has all receipts; another one is asked what the contract remembers.
  clock.move(3_600_000)
  const remembers = encodeFunctionData({ abi: saleLots.abi, functionName: 'orderOf', args: [orderKey(orderId)] })
  const learn = meddler.meddle('eth_call', ([call, tag], ask, chainId) => {
    const { data } = call as unknown as { readonly data: string }
    return isHere(chainId) && data === remembers && tag === 'latest'
      ? native.request({ method: 'eth_call', params: [call, before] })
      : ask()
  })
  const isClosing = (raw: string) => raw.includes(saleClosing(orderId))
  meddler.meddle('eth_sendRawTransaction', async ([raw], ask, chainId) => {
    if (isHere(chainId) && isClosing(raw!)) for (const stop of catchUp.splice(0)) stop()
    return ask()
  })
  const statuses = new Set<string>()
  for (let look = 0; look < 5; look++) {
    for (let block = 0; block < 3; block++) await native.request({ method: 'evm_mine' })
    statuses.add((await step(shop, orderId)).status)
  }
  assert.equal(catchUp.length, 0, 'it was given up')
  assert.ok(!['failed', 'refunding', 'refunded'].some((status) => statuses.has(status)), [...statuses].join())
  learn()
  assert.equal((await step(shop, orderId)).status, 'confirmed')
})

const saleClosing = (orderId: string) =>
  encodeFunctionData({ abi: saleLots.abi, functionName: 'closeOrder', args: [orderKey(orderId)] }).slice(2)
