import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keccak256, toBytes } from 'viem'
import type { Hex } from '../../../src/base/hex.ts'
import { parseUsd } from '../../../src/base/money.ts'
import { createMeddler } from '../../checkout/meddler.ts'
import { AT_ONCE, reconcileRail } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { addressWord, numberWord } from '../../support/hex-words.ts'
import { startShop } from '../../support/shop.ts'

// The node that is asked first belongs to an enemy, and shows a transfer to the till that nobody made.

const AMOUNT = 150_000_000n
const TRANSFER = keccak256(toBytes('Transfer(address,address,uint256)'))
const MADE_UP = keccak256(toBytes('made up'))

async function startWithLiar(t: TestContext, rail: RailUnderTest) {
  const meddler = createMeddler()
  const shop = await startShop({
    withoutWorker: true,
    wrapTransport: (chainId, transport) => [meddler.wrap(chainId, transport), transport],
    configure: (config) => ({
      ...config,
      operations: { ...config.operations, secondOpinionFrom: parseUsd('100.00') },
    }),
  })
  t.after(() => shop.stop())
  const thief = await fundedWallet(shop)
  const isX402 = rail.rail === 'x402'
  const chain = isX402 ? shop.chains.native : shop.chains.tempo
  const address = isX402 ? shop.config.x402!.asset : shop.config.mpp!.currency.address
  const payTo = isX402 ? shop.config.x402!.payTo : shop.config.mpp!.recipient
  await reconcileRail(shop, rail, AT_ONCE)
  await chain.request({ method: 'evm_mine', params: [] })
  const blockNumber = (await chain.request({ method: 'eth_blockNumber' })) as Hex
  const place = { blockNumber, transactionHash: MADE_UP, blockHash: numberWord(1n) }
  const topics = [TRANSFER, addressWord(thief.address), addressWord(payTo)]
  const log = { ...place, address, topics, data: numberWord(AMOUNT), logIndex: '0x0' }
  meddler.meddle('eth_getLogs', async ([filter], ask, chainId) => {
    const { topics: asked } = filter as unknown as { topics: readonly unknown[] }
    const isTill = JSON.stringify(asked).toLowerCase().includes(addressWord(payTo))
    return chainId === chain.chainId && isTill ? [...((await ask()) as object[]), log] : ask()
  })
  meddler.meddle('eth_getTransactionReceipt', ([hash], ask) =>
    hash === MADE_UP ? { ...place, status: '0x1', from: thief.address, logs: [log] } : ask(),
  )
  return { shop, thief }
}

for (const rail of [x402UnderTest, mppPullUnderTest])
  test(`E78: a large sum that only one of two nodes shows at the till of ${rail.name} is not sent back`, async (t) => {
    const { shop, thief } = await startWithLiar(t, rail)
    const before = await rail.balance(shop, thief.address)
    for (let look = 0; look < 3; look++) await reconcileRail(shop, rail, AT_ONCE)
    assert.equal((await rail.balance(shop, thief.address)) - before, 0n)
  })
