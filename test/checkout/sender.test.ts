import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { encodeFunctionData } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import type { Address } from '../../src/base/address.ts'
import { systemClock } from '../../src/base/clock.ts'
import type { Hex } from '../../src/base/hex.ts'
import { silentLog } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'
import { readTries, sendAgain } from '../../src/chain/attempts.ts'
import type { FeeSource } from '../../src/chain/fees.ts'
import type { Errand } from '../../src/chain/lane/lane.ts'
import type { SendState } from '../../src/chain/lane/state.ts'
import { createRpc, providerTransport, type Rpc } from '../../src/chain/rpc.ts'
import { createSender, type Sender, type SenderOptions } from '../../src/chain/sender.ts'
import { refundTransfer } from '../../src/chain/transfer.ts'
import { createWallet, type Wallet } from '../../src/chain/wallet.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import type { Call, Journal } from '../../src/domain/journal.ts'
import { enqueueLeased } from '../../src/store/jobs.ts'
import { createJournal } from '../../src/store/journal.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { createMeddler, type Meddler } from './meddler.ts'

// One key, several processes, and a chain that loses, forgets, delays and lies. Each call lands once, and nobody waits for ever.

const FEES: FeeSource = {
  current: async () => ({ maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000n, baseFee: 1_000_000n }),
}

describe('a sender', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  type Desk = {
    readonly chain: DevChain
    readonly rpc: Rpc
    readonly meddler: Meddler
    readonly wallet: Wallet
    readonly journal: Journal
    /** Another process with the same key. */
    sender(options?: Partial<SenderOptions>): Promise<Sender>
    fault(fault: object): Promise<unknown>
    clear(): Promise<unknown>
    /** Every transaction of the key on the chain, by nonce. */
    landed(): Promise<readonly { readonly nonce: number; readonly to: Address }[]>
  }

  async function desk(t: Pick<TestContext, 'after'>): Promise<Desk> {
    const chain = await createDevChain({ rules: 'native', faults: true })
    t.after(() => chain.close())
    const meddler = createMeddler()
    const transports = [meddler.wrap(84532, providerTransport(chain))]
    const rpc = createRpc({ chainId: 84532, transports, clock: systemClock })
    const wallet = createWallet(new Secret(generatePrivateKey()))
    await chain.request({ method: 'dev_setBalance', params: [wallet.address, '0x56bc75e2d63100000'] })
    const ask = (method: string, ...params: unknown[]) => chain.request({ method, params })
    return {
      chain,
      rpc,
      meddler,
      wallet,
      journal: createJournal(store.db),
      sender: async (options = {}) =>
        createSender({
          rpc,
          wallet,
          journal: createJournal(await store.replica()),
          fees: FEES,
          clock: systemClock,
          log: silentLog,
          waitMs: 1_500,
          stuckAfterMs: 150,
          burial: { blocks: 6n, ms: 0 },
          paysGasInCoin: true,
          ...options,
        }),
      fault: (fault) => ask('dev_fault', fault),
      clear: () => ask('dev_clearFaults'),
      async landed() {
        const height = Number(await ask('eth_blockNumber'))
        const blocks = await Promise.all(
          Array.from({ length: height + 1 }, (_, number) =>
            ask('eth_getBlockByNumber', `0x${number.toString(16)}`, true),
          ),
        )
        return blocks
          .flatMap((block) => (block as { transactions: { from: Address; nonce: Hex; to: Address }[] }).transactions)
          .filter(({ from }) => from.toLowerCase() === wallet.address.toLowerCase())
          .map(({ nonce, to }) => ({ nonce: Number(nonce), to }))
      },
    }
  }

  let lastOrder = 0
  const newOrder = () => `ord_${++lastOrder}`
  /** A step of an order, and the right to work on it. */
  async function newErrand(step = 'mint'): Promise<Errand> {
    const orderId = newOrder()
    const lease = await enqueueLeased(store.db, { kind: 'order', key: orderId, leaseSeconds: 600 })
    return { lease: lease!, orderId, step }
  }
  const target = (n: number): Address => `0x${n.toString(16).padStart(40, 'a')}`
  const call = (n: number): Call => ({ to: target(n), data: '0x', gas: 30_000n })

  function assertMined(state: SendState): asserts state is Extract<SendState, { state: 'mined' }> {
    assert.equal(state.state, 'mined')
  }

  test('M-20: two processes with one key use every nonce once, leave no gap and lose nothing', async (t) => {
    const { sender, landed } = await desk(t)
    const senders = [await sender(), await sender()]
    const errands = await Promise.all(Array.from({ length: 30 }, () => newErrand()))
    const sent = errands.map((errand, n) => senders[n % 2]!.send(errand, call(n)))
    for (const state of await Promise.all(sent)) assertMined(state)
    const found = await landed()
    assert.deepEqual(
      found.map(({ nonce }) => nonce).sort((a, b) => a - b),
      Array.from({ length: 30 }, (_, n) => n),
    )
    assert.equal(new Set(found.map(({ to }) => to.toLowerCase())).size, 30)
  })

  test('M-20: the same step by two processes at once is one transaction', async (t) => {
    const { sender, landed } = await desk(t)
    const senders = [await sender(), await sender()]
    const errand = await newErrand()
    const states = await Promise.all(senders.map((one) => one.send(errand, call(1))))
    for (const state of states) assertMined(state)
    assert.equal((await landed()).length, 1)
  })

  test('an answer that is lost after the node took the bytes changes nothing', async (t) => {
    const { sender, fault, landed } = await desk(t)
    await fault({ kind: 'lose', method: 'eth_sendRawTransaction' })
    assertMined(await (await sender()).send(await newErrand(), call(1)))
    assert.equal((await landed()).length, 1)
  })

  test('a transaction that the node refused, or took and forgot, is sent again as it was', async (t) => {
    const { sender, fault, landed, meddler } = await desk(t)
    for (const kind of ['refuse', 'drop']) {
      await fault({ kind, ...(kind === 'refuse' ? { method: 'eth_sendRawTransaction' } : {}) })
      assertMined(await (await sender({ stuckAfterMs: 60_000 })).send(await newErrand(), call(1)))
    }
    assert.equal((await landed()).length, 2)
    assert.equal(new Set(meddler.seen('eth_sendRawTransaction').map(({ params }) => params[0])).size, 2)
  })

  test('M-21: a stuck transaction is signed again for more, and every version is kept', async (t) => {
    const { sender, fault, landed, journal, wallet } = await desk(t)
    await fault({ kind: 'stick' })
    const errand = await newErrand()
    assertMined(await (await sender()).send(errand, call(1)))
    const send = await journal.find(84532, wallet.address, errand.orderId, 'mint')
    assert.ok(send!.versions.length > 1)
    const [first, second] = send!.versions
    assert.ok(second!.fees.maxFeePerGas * 8n >= first!.fees.maxFeePerGas * 9n)
    assert.equal((await landed()).length, 1)
  })

  test('M-21: the original may land after it was replaced, and is recognised', async (t) => {
    const { sender, fault, clear, meddler, journal, wallet } = await desk(t)
    await fault({ kind: 'stick' })
    const errand = await newErrand()
    const { orderId } = errand
    // The replacement never reaches the pool.
    meddler.meddle('eth_sendRawTransaction', async ([raw], ask) => {
      const send = await journal.find(84532, wallet.address, orderId, 'mint')
      if (send!.versions[0]!.raw === raw) return ask()
      await clear()
      return send!.versions.at(-1)!.hash
    })
    const state = await (await sender()).send(errand, call(1))
    assertMined(state)
    const send = await journal.find(84532, wallet.address, orderId, 'mint')
    assert.ok(send!.versions.length > 1)
    assert.equal(state.receipt.transactionHash, send!.versions[0]!.hash)
  })

  test('a step that is cancelled never lands, and one that landed cannot be cancelled', async (t) => {
    const { sender, fault, clear, landed, wallet, chain } = await desk(t)
    const one = await sender({ waitMs: 50, stuckAfterMs: 60_000 })
    const errand = await newErrand()
    await fault({ kind: 'stick' })
    assert.equal((await one.send(errand, call(1))).state, 'pending')
    // What cancels it has landed, and may still be taken back.
    assert.equal((await one.cancel(errand)).state, 'pending')
    await bury(chain)
    assert.equal((await one.cancel(errand)).state, 'void')
    await clear()
    assert.deepEqual(
      (await landed()).map(({ to }) => to.toLowerCase()),
      [wallet.address.toLowerCase()],
    )
    assert.equal(await stateOf(one, errand), 'void')
    const other = await newErrand()
    assertMined(await one.send(other, call(2)))
    assertMined(await one.cancel(other))
    assert.equal((await one.cancel(await newErrand())).state, 'void')
  })

  test('a nonce that somebody else used makes the step void, once the chain has buried it, and it is sent again', async (t) => {
    const { chain, sender, wallet, landed } = await desk(t)
    const one = await sender({ waitMs: 50 })
    assertMined(await one.send(await newErrand(), call(1)))
    const foreign = wallet.signCall(call(2), 1, await FEES.current(), 84532)
    await chain.request({ method: 'eth_sendRawTransaction', params: [foreign.raw] })
    const errand = await newErrand()
    // As long as the use of the nonce is fresh, the chain may take it back.
    assert.equal((await one.send(errand, call(3))).state, 'pending')
    await bury(chain)
    assert.equal(await stateOf(one, errand), 'void')
    assertMined((await sendAgain(one, errand, call(3))).state)
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0, 1, 2],
    )
  })

  test('a node that counts the nonce and does not show the receipt does not make a step void', async (t) => {
    const { sender, meddler, rpc, chain, wallet } = await desk(t)
    await chain.request({ method: 'dev_mintToken', params: [USDC_ADDRESS, wallet.address, '0x1000'] })
    const one = await sender({ waitMs: 50 })
    const refund = { token: USDC_ADDRESS, to: target(9), amount: 5n } as const
    const errand = { ...(await newErrand()), rpc, sender: one }
    const show = meddler.meddle('eth_getTransactionReceipt', () => null)
    for (let tries = 0; tries < 3; tries++) {
      assert.equal((await refundTransfer(errand, refund)).kind, 'pending')
      await bury(chain)
    }
    show()
    assert.equal((await refundTransfer(errand, refund)).kind, 'refunded')
    assert.equal(await usdcOf(chain, target(9)), 5n)
  })

  test('a version that another process signed and landed is recognised', async (t) => {
    const { sender, chain, meddler, journal, wallet } = await desk(t)
    const errand = await newErrand('refund')
    let isReplaced = false
    meddler.meddle('eth_sendRawTransaction', async (_params, ask) => {
      const send = await journal.find(84532, wallet.address, errand.orderId, 'refund')
      if (!send || isReplaced) return ask()
      isReplaced = true
      const fees = { maxFeePerGas: 60_000_000_000n, maxPriorityFeePerGas: 2_000_000n }
      const version = wallet.signCall(send.call, send.nonce, fees, 84532)
      assert.ok(await journal.addVersion(errand.lease, send, version))
      await chain.request({ method: 'eth_sendRawTransaction', params: [version.raw] })
      return version.hash
    })
    assertMined(await (await sender({ waitMs: 50, stuckAfterMs: 60_000 })).send(errand, call(1)))
  })

  test('a pending transaction of somebody else does not make a gap', async (t) => {
    const { sender, meddler, landed } = await desk(t)
    // It is in the node's pool now, and will be forgotten.
    meddler.meddle('eth_getTransactionCount', ([, tag], ask) => (tag === 'pending' ? '0x1' : ask()))
    assertMined(await (await sender()).send(await newErrand(), call(1)))
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0],
    )
  })

  test('an abandoned transaction that pays too little does not block those behind it', async (t) => {
    const { sender, landed } = await desk(t)
    const stingy: FeeSource = { current: async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, baseFee: 1n }) }
    const abandoned = await (await sender({ fees: stingy, waitMs: 20, stuckAfterMs: 60_000 })).send(
      await newErrand('settle'),
      call(1),
    )
    assert.equal(abandoned.state, 'pending')
    assertMined(await (await sender()).send(await newErrand(), call(2)))
    assert.equal((await landed()).length, 2)
  })

  test('a refund waits for the treasury to be funded, however long, and is then sent once', async (t) => {
    const { sender, chain, rpc, landed, wallet } = await desk(t)
    const one = await sender()
    const refund = { token: USDC_ADDRESS, to: target(7), amount: 500n } as const
    const errand = { ...(await newErrand()), rpc, sender: one }
    for (let tries = 0; tries < 25; tries++) assert.equal((await refundTransfer(errand, refund)).kind, 'pending')
    assert.equal((await landed()).length, 0)
    await chain.request({ method: 'dev_mintToken', params: [USDC_ADDRESS, wallet.address, '0x1000'] })
    assert.equal((await refundTransfer(errand, refund)).kind, 'refunded')
    assert.equal((await refundTransfer(errand, refund)).kind, 'refunded')
    assert.equal(await usdcOf(chain, target(7)), 500n)
  })

  /** What became of the newest try. */
  async function stateOf(one: Sender, { orderId, step }: Errand): Promise<SendState['state'] | undefined> {
    return (await readTries(one, orderId, step)).attempts.at(-1)?.state.state
  }

  /** So many blocks that nothing below is taken back. */
  async function bury(chain: DevChain): Promise<void> {
    for (let block = 0; block < 6; block++) await chain.request({ method: 'evm_mine' })
  }

  async function usdcOf(chain: DevChain, owner: Address): Promise<bigint> {
    const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'balanceOf', args: [owner] })
    return BigInt((await chain.request({ method: 'eth_call', params: [{ to: USDC_ADDRESS, data }, 'latest'] })) as Hex)
  }
})
