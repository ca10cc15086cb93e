import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { keccak256, toBytes } from 'viem'
import type { Hex } from '../../../src/base/hex.ts'
import { silentLog } from '../../../src/base/log.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { refundOrder } from '../../../src/checkout/refund.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { copyDatabase } from '../../../src/store/copy.ts'
import { createMeddler, Refused } from '../../checkout/meddler.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { hurried } from '../../support/configured.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { addressWord } from '../../support/hex-words.ts'
import { plainTransports } from '../../support/shop.ts'
import { startWithBackup, step } from '../support/stepped-shop.ts'

// A backup was put back that does not know of a refund, so every further one is looked for on the chain first. One of two nodes makes one up.

const hex = (value: number): Hex => `0x${value.toString(16)}`
/** Most nodes keep the states of the last blocks only. */
const STATES_KEPT = 10
const MADE_UP = `0x${'7'.repeat(64)}` as const

type Lie = {
  readonly liar: 'first' | 'other'
  /** Counted from the next nonce of the treasury. */
  readonly ahead: number
}

/** That refund is asked for while one node shows what nobody has sent, in a block to come. */
async function startLiedTo(t: TestContext, { liar, ahead }: Lie) {
  const { shop, backup, buyer } = await startWithBackup(t)
  const { native } = shop.chains
  const treasury = demoAddressOf('treasury')
  const orders = [await buy(shop, rail, await fundedWallet(shop)), await buy(shop, rail, buyer)]
  const [forgotten = '', asked = ''] = orders.map(({ body }) => body.orderId)
  await copyDatabase(shop.store.db, backup, silentLog)
  await refundOrder(shop.service.checkout, forgotten, { reason: 'late', by: 'ada' })
  for (let mined = 0; mined < 2 * STATES_KEPT; mined++) await native.request({ method: 'evm_mine', params: [] })
  const [honest, meddler] = [createMeddler(), createMeddler()]
  const nodes = [...plainTransports(shop.chains)].map(([chainId, plain]) => {
    const node = honest.wrap(chainId, plain as RpcTransport)
    const meddled = meddler.wrap(chainId, node)
    return [chainId, liar === 'first' ? [meddled, node] : [node, meddled]] as const
  })
  honest.meddle('eth_getTransactionCount', async ([, tag], ask) => {
    const newest = Number(await native.request({ method: 'eth_blockNumber' }))
    if (tag === 'latest' || Number(tag) > newest - STATES_KEPT) return ask()
    throw new Refused({ code: -32000, message: 'missing trie node' })
  })
  const restored = await shop.replica({ database: backup, configure: hurried, transports: new Map(nodes) })
  const balance = await rail.balance(shop, buyer.address)
  const { amount } = (await restored.checkout.orders.byId(asked))!
  const counted = Number(await native.request({ method: 'eth_getTransactionCount', params: [treasury, 'latest'] }))
  const newest = Number(await native.request({ method: 'eth_blockNumber' }))
  const place = { blockNumber: hex(newest + 1_000), blockHash: `0x${'8'.repeat(64)}`, transactionHash: MADE_UP }
  const topics = [
    keccak256(toBytes('Transfer(address,address,uint256)')),
    addressWord(treasury),
    addressWord(buyer.address),
  ]
  const log = {
    ...place,
    address: shop.config.x402!.asset,
    topics,
    data: addressWord(hex(Number(amount))),
    logIndex: '0x0',
  }
  const ofIt = (shown: object) => (params: readonly string[], ask: () => Promise<unknown>) =>
    params[0] === MADE_UP ? { ...place, from: treasury, ...shown } : ask()
  const lies = [
    meddler.meddle('eth_getLogs', async ([filter], ask) => {
      const wanted = filter as unknown as { topics: readonly unknown[] }
      const logs = (await ask()) as readonly unknown[]
      return wanted.topics[2] === addressWord(buyer.address) ? [...logs, log] : logs
    }),
    meddler.meddle('eth_getTransactionByHash', ofIt({ hash: MADE_UP, nonce: hex(counted + ahead) })),
    meddler.meddle('eth_getTransactionReceipt', ofIt({ status: '0x1', logs: [log] })),
  ]
  const look = () => step({ store: { ...shop.store, db: backup }, service: restored }, asked)
  await refundOrder(restored.checkout, asked, { reason: 'late', by: 'bob' })
  return {
    amount,
    look,
    tellTheTruth() {
      for (const lie of lies) lie()
    },
    back: async () => (await rail.balance(shop, buyer.address)) - balance,
  }
}

const liars = ['first', 'other'] as const

for (const liar of liars)
  for (const [title, ahead] of [
    ['that is free', 0],
    ['far ahead', 1_000],
  ] as const)
    test(`E139: a refund that the ${liar} of two nodes makes up under a nonce ${title} keeps the true one back no longer than that node lies`, async (t) => {
      const { amount, look, back, tellTheTruth } = await startLiedTo(t, { liar, ahead })
      tellTheTruth()
      for (let looks = 0; looks < 4; looks++) await look()
      assert.deepEqual({ status: (await look()).status, back: await back() }, { status: 'refunded', back: amount })
    })

test('E140: a refund that the other of two nodes makes up under a nonce that the store has forgotten does not count as made', async (t) => {
  const { amount, look, back, tellTheTruth } = await startLiedTo(t, { liar: 'other', ahead: -1 })
  await look().catch(() => {})
  tellTheTruth()
  for (let looks = 0; looks < 4; looks++) await look()
  assert.deepEqual({ status: (await look()).status, back: await back() }, { status: 'refunded', back: amount })
})
