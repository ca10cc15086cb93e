import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import type { FeeSource } from '../../src/outbox/fees.ts'
import type { SendState } from '../../src/outbox/state.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { callOf, FEES, senderDesk } from '../support/sender-desk.ts'

// One key, several processes, and a chain that loses, forgets, delays and lies. Each call lands once, and nobody waits for ever.

describe('a sender', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  const desk = (t: TestContext) => senderDesk(t, store)

  function assertMined(state: SendState): asserts state is Extract<SendState, { state: 'mined' }> {
    assert.equal(state.state, 'mined')
  }

  test('M-21: two processes with one key use every nonce once, leave no gap and lose nothing', async (t) => {
    const { sender, landed, newErrand } = await desk(t)
    const senders = [await sender(), await sender()]
    const errands = await Promise.all(Array.from({ length: 30 }, () => newErrand()))
    const sent = errands.map((errand, n) => senders[n % 2]!.send(errand, callOf(n)))
    for (const state of await Promise.all(sent)) assertMined(state)
    const found = await landed()
    assert.deepEqual(
      found.map(({ nonce }) => nonce).sort((a, b) => a - b),
      Array.from({ length: 30 }, (_, n) => n),
    )
    assert.equal(new Set(found.map(({ to }) => to.toLowerCase())).size, 30)
  })

  test('M-21: the same step by two processes at once is one transaction', async (t) => {
    const { sender, landed, newErrand } = await desk(t)
    const senders = [await sender(), await sender()]
    const errand = await newErrand()
    const states = await Promise.all(senders.map((one) => one.send(errand, callOf(1))))
    for (const state of states) assertMined(state)
    assert.equal((await landed()).length, 1)
  })

  test('an answer that is lost after the node took the bytes changes nothing', async (t) => {
    const { sender, fault, landed, newErrand } = await desk(t)
    await fault({ kind: 'lose', method: 'eth_sendRawTransaction' })
    assertMined(await (await sender()).send(await newErrand(), callOf(1)))
    assert.equal((await landed()).length, 1)
  })

  test('a transaction that the node refused, or took and forgot, is sent again as it was', async (t) => {
    const { sender, fault, landed, meddler, newErrand } = await desk(t)
    for (const kind of ['refuse', 'drop']) {
      await fault({ kind, ...(kind === 'refuse' ? { method: 'eth_sendRawTransaction' } : {}) })
      assertMined(await (await sender({ stuckAfterMs: 60_000 })).send(await newErrand(), callOf(1)))
    }
    assert.equal((await landed()).length, 2)
    assert.equal(new Set(meddler.seen('eth_sendRawTransaction').map(({ params }) => params[0])).size, 2)
  })

  test('M-21: a stuck transaction is signed again for more, and every version is kept', async (t) => {
    const { sender, fault, landed, sendOf, newErrand } = await desk(t)
    await fault({ kind: 'stick' })
    const errand = await newErrand()
    assertMined(await (await sender()).send(errand, callOf(1)))
    const send = await sendOf(errand)
    assert.ok(send!.versions.length > 1)
    const [first, second] = send!.versions
    assert.ok(second!.fees.maxFeePerGas * 8n >= first!.fees.maxFeePerGas * 9n)
    assert.equal((await landed()).length, 1)
  })

  test('M-21: the original may land after it was replaced, and is recognised', async (t) => {
    const { sender, fault, clear, meddler, sendOf, newErrand } = await desk(t)
    await fault({ kind: 'stick' })
    const errand = await newErrand()
    // The replacement never reaches the pool.
    meddler.meddle('eth_sendRawTransaction', async ([raw], ask) => {
      const send = await sendOf(errand)
      if (send!.versions[0]!.raw === raw) return ask()
      await clear()
      return send!.versions.at(-1)!.hash
    })
    const state = await (await sender()).send(errand, callOf(1))
    assertMined(state)
    const send = await sendOf(errand)
    assert.ok(send!.versions.length > 1)
    assert.equal(state.receipt.transactionHash, send!.versions[0]!.hash)
  })

  test('a step whose nonce was used by a stranger is signed again under the next one', async (t) => {
    const { chain, sender, wallet, landed, bury, newErrand } = await desk(t)
    const one = await sender({ waitMs: 50 })
    assertMined(await one.send(await newErrand(), callOf(1)))
    const foreign = await wallet.signCall(callOf(2), 1, await FEES.current(), 84532)
    await chain.request({ method: 'eth_sendRawTransaction', params: [foreign.raw] })
    const errand = await newErrand()
    assert.equal((await one.send(errand, callOf(3))).state, 'pending')
    // Its receipt may be late until then.
    await bury()
    assertMined(await one.send(errand, callOf(3)))
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0, 1, 2],
    )
  })

  test('what hangs gives way to another call under the same nonce, and only one of them lands', async (t) => {
    const { sender, fault, clear, landed, sendOf, newErrand } = await desk(t)
    const one = await sender({ waitMs: 50, stuckAfterMs: 60_000 })
    const errand = await newErrand()
    await fault({ kind: 'stick' })
    assert.equal((await one.send(errand, callOf(1))).state, 'pending')
    assertMined(await one.replace(errand.lease, await sendOf(errand), callOf(2)))
    await clear()
    assert.deepEqual(
      (await landed()).map(({ to }) => to.toLowerCase()),
      [callOf(2).to],
    )
    assertMined(await one.look(await sendOf(errand)))
  })

  test('a version that another process signed and landed is recognised', async (t) => {
    const { sender, chain, meddler, journal, sendOf, wallet, newErrand } = await desk(t)
    const errand = await newErrand('refund')
    let isReplaced = false
    meddler.meddle('eth_sendRawTransaction', async (_params, ask) => {
      const send = await sendOf(errand)
      if (!send || isReplaced) return ask()
      isReplaced = true
      const fees = { maxFeePerGas: 60_000_000_000n, maxPriorityFeePerGas: 2_000_000n }
      const version = await wallet.signCall(send.call, send.nonce, fees, 84532)
      assert.ok(await journal.addVersion(errand.lease, send, version))
      await chain.request({ method: 'eth_sendRawTransaction', params: [version.raw] })
      return version.hash
    })
    assertMined(await (await sender({ waitMs: 50, stuckAfterMs: 60_000 })).send(errand, callOf(1)))
  })

  test('a pending transaction of somebody else does not make a gap', async (t) => {
    const { sender, meddler, landed, newErrand } = await desk(t)
    // It is in the node's pool now, and will be forgotten.
    meddler.meddle('eth_getTransactionCount', ([, tag], ask) => (tag === 'pending' ? '0x1' : ask()))
    assertMined(await (await sender()).send(await newErrand(), callOf(1)))
    assert.deepEqual(
      (await landed()).map(({ nonce }) => nonce),
      [0],
    )
  })

  test('an abandoned transaction that pays too little does not block those behind it', async (t) => {
    const { sender, landed, newErrand } = await desk(t)
    const stingy: FeeSource = { current: async () => ({ maxFeePerGas: 1n, maxPriorityFeePerGas: 1n, baseFee: 1n }) }
    const abandoned = await (await sender({ fees: stingy, waitMs: 20, stuckAfterMs: 60_000 })).send(
      await newErrand('settle'),
      callOf(1),
    )
    assert.equal(abandoned.state, 'pending')
    assertMined(await (await sender()).send(await newErrand(), callOf(2)))
    assert.equal((await landed()).length, 2)
  })
})
