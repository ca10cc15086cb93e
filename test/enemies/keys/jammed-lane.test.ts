import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import type { Hex } from '../../../src/base/hex.ts'
import { movableClock } from '../../checkout/counter.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, senderDesk } from '../../support/sender-desk.ts'

// All transactions of a key stand in a row. Whatever stops the first one stops them all, and who pays meanwhile waits behind them.

const hex = (value: bigint): Hex => `0x${value.toString(16)}`

describe('a key whose transactions do not land', () => {
  let store: TestStore
  before(async () => {
    store = await openStore('postgres')
  })
  after(() => store.drop())

  test('takes nothing new after a while, says what is needed, and goes on by itself when the chain does', async (t) => {
    const clock = movableClock()
    const { sender, newErrand, fault, clear, alarms, landed } = await senderDesk(t, store, { clock })
    const one = await sender({ waitMs: 30, stuckAfterMs: 30_000 })
    await one.assertClear()
    await fault({ kind: 'stick', count: 1_000 })
    const errand = await newErrand()
    assert.equal((await one.send(errand, callOf(1))).state, 'pending')
    await one.assertClear()
    clock.move(61_000)
    await assert.rejects(one.assertClear(), { code: 'chain_unavailable' })
    assert.match(alarms.join(''), /transactions of a hot key do not land.*Put another one first/)
    // Another process knows as much as this one as soon as it has looked.
    const other = await sender({ waitMs: 30, stuckAfterMs: 30_000 })
    await other.assertClear()
    clock.move(61_000)
    await assert.rejects(other.assertClear(), { code: 'chain_unavailable' })
    await clear()
    clock.move(3_000)
    await one.assertClear()
    await other.assertClear()
    assert.equal((await landed()).length, 1)
  })

  test('M-21: are others’, and on their way: a process that has been up for long does not call them stuck', async (t) => {
    const clock = movableClock()
    const { sender, newErrand, fault } = await senderDesk(t, store, { clock })
    const options = { waitMs: 30, stuckAfterMs: 30_000 }
    const [quiet, busy] = [await sender(options), await sender(options)]
    clock.move(61_000)
    await fault({ kind: 'stick' })
    assert.equal((await busy.send(await newErrand(), callOf(1))).state, 'pending')
    await quiet.assertClear()
    clock.move(61_000)
    await assert.rejects(quiet.assertClear(), { code: 'chain_unavailable' })
  })

  test('M-21: and have landed since: whoever comes while one looks waits for the same answer', async (t) => {
    const clock = movableClock()
    const { sender, newErrand, fault, clear, landed } = await senderDesk(t, store, { clock })
    const one = await sender({ waitMs: 30, stuckAfterMs: 30_000 })
    await fault({ kind: 'stick' })
    assert.equal((await one.send(await newErrand(), callOf(1))).state, 'pending')
    await clear()
    assert.equal((await landed()).length, 1)
    clock.move(61_000)
    await Promise.all([one.assertClear(), one.assertClear(), one.assertClear()])
  })

  test('that nobody waits for any more are brought to the chain all the same', async (t) => {
    const clock = movableClock()
    const { sender, newErrand, fault, landed } = await senderDesk(t, store, { clock })
    const one = await sender({ waitMs: 30, stuckAfterMs: 30_000 })
    await fault({ kind: 'drop' })
    assert.equal((await one.send(await newErrand('settle'), callOf(1))).state, 'pending')
    clock.move(61_000)
    await assert.rejects(one.assertClear(), { code: 'chain_unavailable' })
    const { lease } = await newErrand()
    await one.tend(lease)
    assert.equal((await landed()).length, 1)
    await one.assertClear()
  })

  test('because the wallet was emptied says so, and goes on when it is filled', async (t) => {
    const clock = movableClock()
    const { sender, newErrand, ask, wallet, fault, landed, alarms, liveFees } = await senderDesk(t, store, { clock })
    const one = await sender({ waitMs: 30, stuckAfterMs: 30_000, fees: liveFees })
    await fault({ kind: 'drop' })
    const errand = await newErrand()
    assert.equal((await one.send(errand, callOf(1))).state, 'pending')
    await ask('dev_setBalance', wallet.address, '0x0')
    clock.move(61_000)
    await assert.rejects(one.assertClear(), { code: 'relayer_unfunded' })
    assert.match(alarms.join(''), new RegExp(`send at least \\d+ wei to ${wallet.address}`))
    await ask('dev_setBalance', wallet.address, hex(10n ** 18n))
    assert.equal((await one.resume(errand)).state, 'mined')
    await one.assertClear()
    assert.equal((await landed()).length, 1)
  })

  test('makes those behind it do no more work the more of them there are', async (t) => {
    const { sender, newErrand, fault, clear, meddler, landed } = await senderDesk(t, store)
    await fault({ kind: 'stick' })
    const one = await sender({ waitMs: 2_500, stuckAfterMs: 60_000 })
    const errands = await Promise.all(Array.from({ length: 60 }, () => newErrand()))
    const began = systemClock.now()
    const states = await Promise.all(errands.map((errand, n) => one.send(errand, callOf(n))))
    assert.ok(states.every(({ state }) => state === 'pending'))
    // Each sends its own bytes once a second, however many seconds that were; what is in front is sent by one of them for all.
    const seconds = Math.ceil((systemClock.now() - began) / 1_000)
    const sent = meddler.seen('eth_sendRawTransaction').length
    assert.ok(sent <= (60 + 16) * (seconds + 1), `${sent} transactions were handed over in ${seconds} s`)
    await clear()
    assert.equal((await landed()).length, 60)
  })
})
