import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { encodeFunctionData } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { testUsdc } from '../../../src/artifacts/TestUsdc.ts'
import type { Address, Hash } from '../../../src/base/address.ts'
import { systemClock } from '../../../src/base/clock.ts'
import type { Hex } from '../../../src/base/hex.ts'
import { silentLog } from '../../../src/base/log.ts'
import { Secret } from '../../../src/base/secret.ts'
import type { WaypointName } from '../../../src/base/waypoint.ts'
import { createHeadSource } from '../../../src/chain/head.ts'
import { createRpc } from '../../../src/chain/rpc.ts'
import { providerTransport } from '../../../src/chain/transport.ts'
import { createDevChain } from '../../../src/devchain/chain.ts'
import { PATH_USD_ADDRESS, USDC_ADDRESS } from '../../../src/devchain/rules.ts'
import type { RefundOutcome } from '../../../src/domain/rail.ts'
import { createFeeSource } from '../../../src/outbox/fees.ts'
import type { RefundTransfer } from '../../../src/outbox/refund.ts'
import { refundByAuthorization } from '../../../src/outbox/refund-authorization.ts'
import { refundByNonceKey } from '../../../src/outbox/refund-nonce-key.ts'
import { createSender } from '../../../src/outbox/sender.ts'
import { createWallet, type Wallet } from '../../../src/outbox/wallet.ts'
import { createJournal } from '../../../src/store/sends/journal.ts'
import { recordKeys } from '../../../src/store/sends/keys.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { leaseOn, takeOver } from '../../support/lease.ts'

// What goes back goes back once, by the rule of the chain itself: stores that know nothing of each other send it too.

const AMOUNT = 250_000n
const BUYER: Address = `0x${'b0'.repeat(20)}`
const BLOCKS = 3n

type Rules = 'native' | 'tempo'

/** A chain, two treasuries, and as many shops with them as wanted, each with a store of its own. */
async function stage(t: TestContext, rules: Rules) {
  const chain = await createDevChain({ rules, faults: true })
  t.after(() => chain.close())
  const token = rules === 'native' ? USDC_ADDRESS : PATH_USD_ADDRESS
  const ask = <Answer>(method: string, ...params: unknown[]) => chain.request({ method, params }) as Promise<Answer>
  const newKey = async () => {
    const wallet = createWallet(new Secret(generatePrivateKey()))
    await ask('dev_mintToken', token, wallet.address, '0x989680')
    return wallet
  }
  const treasuries = [await newKey(), await newKey()] as const
  const gas = await newKey()
  if (rules === 'native') await ask('dev_setBalance', gas.address, '0x56bc75e2d63100000')
  const rpc = createRpc({ chainId: chain.chainId, transports: [providerTransport(chain)], clock: systemClock })
  const bury = async () => {
    for (let block = 0n; block < BLOCKS; block++) await ask('evm_mine')
  }
  const paidBack = async () => {
    const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'balanceOf', args: [BUYER] })
    return BigInt(await ask<Hex>('eth_call', { to: token, data }, 'latest'))
  }
  await ask('dev_mintToken', token, BUYER, '0x1')
  const payment = await anyTransaction(ask)
  const refund = { name: `payment ${payment}`, token, to: BUYER, amount: AMOUNT, since: payment }

  async function shop(store: TestStore, treasury: Wallet = treasuries[0], dies: WaypointName | null = null) {
    await recordKeys(
      store.db,
      treasuries.map(({ address: signer }) => ({ chainId: chain.chainId, role: 'treasury', signer })),
    )
    const sender = createSender({
      rpc,
      wallet: rules === 'native' ? gas : treasury,
      journal: createJournal(store.db),
      fees: createFeeSource({ head: createHeadSource({ rpc, clock: systemClock }), tipWei: 0n }),
      clock: systemClock,
      log: silentLog,
      waypoint: async (name) => {
        if (name === dies) throw new Error('the process ends here')
      },
      waitMs: 200,
      stuckAfterMs: 60_000,
      burial: { blocks: BLOCKS, ms: 0 },
      paysGasInCoin: rules === 'native',
    })
    const domain = { name: 'USDC', version: '2', chainId: chain.chainId, token }
    return async (orderId: string): Promise<RefundOutcome> => {
      const lease = await leaseOn(store.db, orderId).catch(() =>
        takeOver(store.db, { kind: 'order', key: orderId, lease: '' }),
      )
      const errand = { lease, stillOwed: async () => true }
      const one: RefundTransfer = { ...refund, orderId }
      return rules === 'native'
        ? refundByAuthorization({ rpc, domain, treasury, sender }, one, errand)
        : refundByNonceKey({ rpc, treasury: sender }, one, errand)
    }
  }

  const newStore = async () => {
    const store = await openStore('postgres')
    t.after(() => store.drop())
    return store
  }
  const before = await paidBack()
  return { ask, shop, newStore, treasuries, bury, paidBack: async () => (await paidBack()) - before }
}

async function anyTransaction(ask: <Answer>(method: string, ...params: unknown[]) => Promise<Answer>): Promise<Hash> {
  const { transactions } = await ask<{ transactions: Hash[] }>('eth_getBlockByNumber', 'latest', false)
  return transactions[0]!
}

async function refunded(refund: () => Promise<RefundOutcome>, bury: () => Promise<void>): Promise<Hash> {
  for (let look = 0; look < 10; look++) {
    const outcome = await refund()
    if (outcome.kind === 'refunded') return outcome.transaction
    await bury()
  }
  return assert.fail('it never went back')
}

for (const rules of ['native', 'tempo'] as const) {
  test(`C-12: on ${rules}, a store that knows nothing of a refund finds it, for this treasury and for the next`, async (t) => {
    const { shop, newStore, treasuries, bury, paidBack } = await stage(t, rules)
    const first = await shop(await newStore())
    const transaction = await refunded(() => first('ord_1'), bury)
    const empty = await newStore()
    for (const treasury of treasuries) {
      const restored = await shop(empty, treasury)
      // The money may count as an order's in one store, and as nobody's in the other.
      for (const orderId of ['ord_1', 'transfer 7'])
        assert.equal(await refunded(() => restored(orderId), bury), transaction)
    }
    assert.equal(await paidBack(), AMOUNT)
  })

  test(`C-12: on ${rules}, two stores that know nothing of each other send it at once`, async (t) => {
    const { shop, newStore, bury, paidBack } = await stage(t, rules)
    const shops = await Promise.all([newStore(), newStore()].map(async (store) => shop(await store)))
    const sent = await Promise.all(shops.map((refund) => refunded(() => refund('ord_1'), bury)))
    assert.equal(sent[0], sent[1])
    assert.equal(await paidBack(), AMOUNT)
  })

  for (const dies of ['send.signed', 'send.journaled', 'send.broadcast', 'send.mined'] as const)
    test(`C-12: on ${rules}, a process dies at ${dies}; the next one, and a store from before that, send it once`, async (t) => {
      const { shop, newStore, treasuries, bury, paidBack } = await stage(t, rules)
      const store = await newStore()
      const dying = await shop(store, treasuries[0], dies)
      await assert.rejects(dying('ord_1'), /ends here/)
      const next = await shop(store, treasuries[1])
      const older = await shop(await newStore(), treasuries[1])
      // The money is in the treasury that signed first; the other one may have nothing to do with it.
      const transaction = await refunded(() => next('ord_1'), bury)
      assert.equal(await refunded(() => older('ord_1'), bury), transaction)
      assert.equal(await paidBack(), AMOUNT)
    })

  test(`E15: on ${rules}, a refund that reverted is sent again`, async (t) => {
    const { ask, shop, newStore, bury, paidBack } = await stage(t, rules)
    const refund = await shop(await newStore())
    await ask('dev_fault', { kind: 'revert', to: rules === 'native' ? USDC_ADDRESS : PATH_USD_ADDRESS })
    assert.equal((await refund('ord_1')).kind, 'pending')
    await refunded(() => refund('ord_1'), bury)
    assert.equal(await paidBack(), AMOUNT)
  })
}
