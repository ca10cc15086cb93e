import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { type ChainDelivery, deliverOnce } from '../../../src/chain/deliver-once.ts'
import { refundTransfer } from '../../../src/chain/transfer.ts'
import { USDC_ADDRESS } from '../../../src/devchain/rules.ts'
import type { Send } from '../../../src/domain/journal.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, FEES, senderDesk, target } from '../../support/sender-desk.ts'

// A refund may have been tried several times. It ends with the first try that paid, whichever that was, and no other is ever signed.

let store: TestStore
before(async () => {
  store = await openStore('postgres')
})
after(() => store.drop())

const AMOUNT = 5n
const refund = { token: USDC_ADDRESS, to: target(9), amount: AMOUNT, since: 0n } as const

/** A treasury, and a refund whose first try has landed while nobody could see its receipt. */
async function paidUnseen(t: TestContext) {
  const desk = await senderDesk(t, store)
  await desk.ask('dev_mintToken', USDC_ADDRESS, desk.wallet.address, '0x1000')
  const sender = await desk.sender({ waitMs: 30, stuckAfterMs: 60_000 })
  const errand = { ...(await desk.newErrand('refund')), rpc: desk.rpc, sender }
  const show = desk.meddler.meddle('eth_getTransactionReceipt', () => null)
  assert.equal((await refundTransfer(errand, refund)).kind, 'pending')
  const [first] = await desk.journal.ofOrder(errand.orderId)
  return { ...desk, errand, show, first: first! }
}

type Paid = Awaited<ReturnType<typeof paidUnseen>>

/** A second try, as an earlier version would have signed it; the node is given only what the case wants. */
async function secondTry({ journal, wallet, errand, first }: Paid, to = first.call.to): Promise<Send> {
  const nonce = first.nonce + 1
  const call = { ...first.call, to }
  const versions = [await wallet.signCall(call, nonce, await FEES.current(), 84532)]
  const send: Send = { ...first, nonce, step: 'refund.2', call, versions, landing: null }
  assert.equal(await journal.record(errand.lease, send), null)
  return send
}

async function assertPaidByFirst(paid: Paid): Promise<void> {
  const { errand, first, usdcOf, landed, bury } = paid
  const before = (await landed()).length
  for (let look = 0; look < 3; look++) {
    const outcome = await refundTransfer(errand, refund)
    assert.deepEqual(outcome, { kind: 'refunded', transaction: first.versions[0]!.hash })
    await bury()
  }
  assert.equal(await usdcOf(target(9)), AMOUNT)
  assert.equal((await landed()).length, before, 'nothing more was sent')
}

describe('a refund whose first try paid', () => {
  test('ends with it, though a second one waits somewhere', async (t) => {
    const paid = await paidUnseen(t)
    await secondTry(paid)
    paid.show()
    await assertPaidByFirst(paid)
  })

  test('ends with it, though a second one was mined and reverted', async (t) => {
    const paid = await paidUnseen(t)
    const { versions } = await secondTry(paid)
    await paid.fault({ kind: 'revert', to: USDC_ADDRESS })
    await paid.ask('eth_sendRawTransaction', versions[0]!.raw)
    paid.show()
    await assertPaidByFirst(paid)
  })

  test('ends with it, though a second one lost its nonce to a stranger', async (t) => {
    const paid = await paidUnseen(t)
    const { nonce, call } = await secondTry(paid)
    const foreign = await paid.wallet.signCall(
      { ...call, to: target(1), data: '0x' },
      nonce,
      await FEES.current(),
      84532,
    )
    await paid.ask('eth_sendRawTransaction', foreign.raw)
    await paid.bury()
    paid.show()
    await assertPaidByFirst(paid)
  })

  test('is not paid again while the chain shows the transfer and no node shows the receipt', async (t) => {
    const paid = await paidUnseen(t)
    // The journal has a second try that is over; a careless look at the newest would now sign a third.
    const { nonce, call } = await secondTry(paid)
    const foreign = await paid.wallet.signCall(
      { ...call, to: target(1), data: '0x' },
      nonce,
      await FEES.current(),
      84532,
    )
    await paid.ask('eth_sendRawTransaction', foreign.raw)
    for (let look = 0; look < 3; look++) {
      await paid.bury()
      assert.equal((await refundTransfer(paid.errand, refund)).kind, 'pending')
    }
    assert.equal(await paid.usdcOf(target(9)), AMOUNT)
    paid.show()
    await assertPaidByFirst(paid)
  })
})

describe('a node that makes up that a refund reverted', () => {
  /** The receipt of the try says no, and nothing else about it is changed. */
  const invent = ({ meddler }: Pick<Paid, 'meddler'>) =>
    meddler.meddle('eth_getTransactionReceipt', async (_params, ask) => {
      const receipt = (await ask()) as object | null
      return receipt && { ...receipt, status: '0x0', logs: [] }
    })

  test('is found out by the transfer itself: nothing is paid twice', async (t) => {
    const paid = await paidUnseen(t)
    paid.show()
    const stop = invent(paid)
    for (let look = 0; look < 4; look++) {
      await paid.bury()
      assert.equal((await refundTransfer(paid.errand, refund)).kind, 'pending')
    }
    assert.equal(await paid.usdcOf(target(9)), AMOUNT)
    stop()
    await assertPaidByFirst(paid)
  })

  test('is found out by the second node, though it hides the transfer too', async (t) => {
    const desk = await senderDesk(t, store, { hasSecondNode: true })
    await desk.ask('dev_mintToken', USDC_ADDRESS, desk.wallet.address, '0x1000')
    const sender = await desk.sender({ waitMs: 30, stuckAfterMs: 60_000 })
    const errand = { ...(await desk.newErrand('refund')), rpc: desk.rpc, sender }
    invent(desk)
    desk.meddler.meddle('eth_getLogs', () => [])
    for (let look = 0; look < 4; look++) {
      assert.equal((await refundTransfer(errand, refund)).kind, 'pending')
      await desk.bury()
    }
    assert.equal(await desk.usdcOf(target(9)), AMOUNT)
  })
})

test('a delivery whose time is over with two tries under way is given up only when both can never land', async (t) => {
  const desk = await senderDesk(t, store)
  const { wallet, journal, fault, bury, clear, landed } = desk
  const sender = await desk.sender({ waitMs: 60, stuckAfterMs: 60_000 })
  const errand = await desk.newErrand('mint')
  await fault({ kind: 'stick' })
  const call = callOf(1)
  assert.equal((await sender.send(errand, call)).state, 'pending')
  const [first] = await journal.ofOrder(errand.orderId)
  const versions = [await wallet.signCall(call, 1, await FEES.current(), 84532)]
  await fault({ kind: 'stick' })
  assert.equal(await journal.record(errand.lease, { ...first!, nonce: 1, step: 'mint.2', versions }), null)
  await desk.ask('eth_sendRawTransaction', versions[0]!.raw)
  const delivery: ChainDelivery = {
    ...errand,
    to: call.to,
    data: call.data,
    gasMax: call.gas,
    trial: async () => {},
    recall: async () => null,
    read: () => ({}),
    isClosed: async () => false,
    suspects: async () => [],
    meaningOf: () => assert.fail('nothing refuses'),
    deadline: 0,
    retryMs: 1,
  }
  assert.equal((await deliverOnce(sender, systemClock, delivery)).state, 'pending')
  await bury()
  const last = await deliverOnce(sender, systemClock, delivery)
  assert.ok(last.state === 'impossible')
  assert.deepEqual(last.proof, { sends: 2 })
  // Nothing that was signed for it can land any more.
  await clear()
  const own = wallet.address.toLowerCase()
  assert.deepEqual(
    (await landed()).map(({ to }) => to.toLowerCase()),
    [own, own],
  )
})

test('a refund that truly reverted is sent again when the chain has settled, and no sooner', async (t) => {
  const desk = await senderDesk(t, store)
  await desk.ask('dev_mintToken', USDC_ADDRESS, desk.wallet.address, '0x1000')
  const sender = await desk.sender({ waitMs: 200, stuckAfterMs: 60_000 })
  const errand = { ...(await desk.newErrand('refund')), rpc: desk.rpc, sender }
  await desk.fault({ kind: 'revert', to: USDC_ADDRESS })
  for (let look = 0; look < 3; look++) assert.equal((await refundTransfer(errand, refund)).kind, 'pending')
  assert.equal((await desk.landed()).length, 1)
  await desk.bury()
  assert.equal((await refundTransfer(errand, refund)).kind, 'refunded')
  assert.equal(await desk.usdcOf(target(9)), AMOUNT)
})
