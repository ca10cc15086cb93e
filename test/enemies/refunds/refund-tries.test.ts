import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { systemClock } from '../../../src/base/clock.ts'
import { type ChainDelivery, deliverOnce } from '../../../src/chain/deliver-once.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { callOf, FEES, senderDesk } from '../../support/sender-desk.ts'

let store: TestStore
before(async () => {
  store = await openStore('postgres')
})
after(() => store.drop())

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
