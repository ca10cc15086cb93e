import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { Address, Hash } from '../../../src/base/address.ts'
import { systemRandom } from '../../../src/base/id.ts'
import type { TillReport } from '../../../src/checkout/reconcile.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { openTill, recordArrivals, recordScan } from '../../../src/store/tills/scan.ts'
import { sendFrom } from '../../checkout/x402-wallet.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, reconcileRail } from '../../operations/desk.ts'
import { transfer } from '../../operations/strangers.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest as rail } from '../../support/credentials.ts'
import { openStore, type TestStore } from '../../support/database.ts'
import { startShop } from '../../support/shop.ts'
import { drop } from '../support/stepped-shop.ts'

// E198: a transaction of several transfers is mined again, and one of them fails in it, which its contract does not mind. The others stand in other places now.

const abi = parseAbi([
  'function approve(address spender, uint256 value) returns (bool)',
  'function transferFrom(address from, address to, uint256 value) returns (bool)',
])
const CARELESS = `0x${'ca'.repeat(20)}` as const
/** How long a call of `transferFrom` is. */
const CALL_BYTES = 100
const byte = (value: number) => value.toString(16).padStart(2, '0')

/** Calls the address in the first word with one after the other of so many calls that follow, and looks at nothing. */
function callsAndForgets(count: number): Hex {
  const one = (at: number) =>
    `60006000${`60${byte(CALL_BYTES)}61${byte(0)}${byte(at * CALL_BYTES)}`}6000600035${'5a'}f150`
  const all = Array.from({ length: count }, (_, at) => one(at)).join('')
  return `0x61${(count * CALL_BYTES).toString(16).padStart(4, '0')}6020600037${all}00`
}

test('E198, E206: what went back stays so when its transaction is mined again with fewer transfers, and only what is gone is missing', async (t) => {
  const shop = await startShop({ withoutWorker: true })
  t.after(() => shop.stop())
  const { native } = shop.chains
  const { asset, payTo } = shop.config.x402!
  const lender = await fundedWallet(shop)
  const rich = await fundedWallet(shop)
  const poor = await fundedWallet(shop, 0n)
  const friend = await fundedWallet(shop, 0n)
  const send = (from: typeof rich, to: Address, data: Hex) => sendFrom(native, from, to, data)
  await native.request({ method: 'dev_setCode', params: [CARELESS, callsAndForgets(3)] })
  for (const account of [rich, poor])
    await send(account, asset, encodeFunctionData({ abi, functionName: 'approve', args: [CARELESS, 10_000_000n] }))
  await reconcileRail(shop, rail, AT_ONCE)
  const loan = await send(lender, asset, transfer(poor.address, 400_000n))
  const moved = (from: Address, to: Address, amount: bigint) =>
    encodeFunctionData({ abi, functionName: 'transferFrom', args: [from, to, amount] }).slice(2)
  const calls = [
    moved(poor.address, payTo, 400_000n),
    moved(rich.address, friend.address, 300_000n),
    moved(rich.address, payTo, 500_000n),
  ]
  await send(rich, CARELESS, `0x${asset.slice(2).padStart(64, '0')}${calls.join('')}`)
  const look = () => reconcileRail(shop, rail, AT_ONCE)
  const sentBack = async () => [
    await transfers(shop, rail, demoAddressOf('treasury'), rich.address),
    await transfers(shop, rail, demoAddressOf('treasury'), poor.address),
  ]
  for (let round = 0; round < 3; round++) await look()
  assert.deepEqual(await sentBack(), [[500_000n], [400_000n]])
  await drop(native, loan as Hash)
  for (let round = 0; round < 4; round++) await look()
  assert.deepEqual(await sentBack(), [[500_000n], [400_000n]])
  const named = ({ items }: Pick<TillReport, 'items'>) => items.map(({ kind, amount }) => [kind, amount])
  const { items, difference } = await look()
  assert.deepEqual({ named: named({ items }), difference }, { named: [['missing', 400_000n]], difference: -400_000n })
  // As if the chain had not shown it for an hour: its transaction is there, and will not be mined once more.
  await shop.store.db.query(`update missing_settlements set updated_at = now() - interval '1 hour'`)
  assert.deepEqual(named(await look()), [['lost', 400_000n]])
})

const [ALICE, BOB] = [`0x${'a1'.repeat(20)}`, `0x${'b0'.repeat(20)}`] as const
const TRANSACTION = `0x${'11'.repeat(32)}` as const
/** `A3`: a transfer of Alice in the third place. */
type Shown = `${'A' | 'B'}${number}`

const readings: Readonly<
  Record<
    string,
    {
      readonly shown: readonly (readonly Shown[])[]
      readonly kept: readonly string[]
      readonly keptAsArrivals?: readonly string[]
    }
  >
> = {
  'other logs before it': {
    shown: [
      ['A1', 'B2'],
      ['A4', 'B5'],
    ],
    kept: ['A1 at 4', 'B2 at 5'],
  },
  'one in the place of another': { shown: [['A1', 'B2'], ['B1']], kept: ['A1 aside', 'B2 at 1'] },
  'their places exchanged': {
    shown: [
      ['A1', 'B2'],
      ['B1', 'A2'],
    ],
    kept: ['A1 at 2', 'B2 at 1'],
  },
  'one more before it, in its place': { shown: [['A1'], ['B1', 'A2']], kept: ['A1 at 2', 'B1 new'] },
  'fewer, and then all again': { shown: [['A1', 'B2'], ['B1'], ['A1', 'B2']], kept: ['A1 at 1', 'B2 at 2'] },
  'fewer, seen twice': { shown: [['A1', 'B2'], ['B1'], ['B1']], kept: ['A1 aside', 'B2 at 1'] },
  'fewer that look the same': {
    shown: [
      ['A1', 'A2', 'B3'],
      ['A2', 'B3'],
      ['A2', 'B3'],
    ],
    kept: ['A1 aside', 'A2 at 2', 'B3 at 3'],
    // What a receipt leaves out may be there all the same, and no later scan may read its block.
    keptAsArrivals: ['A1 at 1', 'A2 at 2', 'B3 at 3'],
  },
  'fewer, then others, then all': { shown: [['A1', 'B2'], ['B1'], ['A1'], ['A1', 'B2']], kept: ['A1 at 1', 'B2 at 2'] },
  'more that look the same': { shown: [['A1'], ['A1', 'A2']], kept: ['A1 at 1', 'A2 new'] },
  'more, elsewhere, that look the same': { shown: [['A2'], ['A1', 'A3']], kept: ['A2 at 1', 'A3 new'] },
  // Which of the two is gone does not matter: one has come, and one has gone back.
  'one more that looks the same, then one of the two elsewhere': {
    shown: [['A2'], ['A1', 'A2'], ['A3']],
    kept: ['A2 at 3', 'A-1 new'],
    keptAsArrivals: ['A2 at 3', 'A1 new'],
  },
  'one more that looks the same, then only that one': {
    shown: [['A2'], ['A1', 'A2'], ['A1']],
    kept: ['A2 at 1', 'A-1 new'],
    keptAsArrivals: ['A2 at 2', 'A1 new'],
  },
  'one more that a node makes up, then nothing, then what it was': {
    shown: [['A2'], ['A5'], ['A3', 'A5'], [], ['A2']],
    kept: ['A2 at 2', 'A-1 new'],
    keptAsArrivals: ['A2 at 2', 'A3 new'],
  },
}

let store: TestStore
before(async () => {
  store = await openStore('embedded')
})
after(() => store.drop())

for (const [name, { shown, kept, keptAsArrivals = kept }] of Object.entries(readings))
  for (const [how, record] of [
    ['scan', recordScan],
    ['arrivals', recordArrivals],
  ] as const)
    test(`E198: transfers are known again by what they are: ${name}, as ${how}`, async () => {
      const { db } = store
      const till = `${name}, as ${how}`
      await openTill(db, till, { after: async () => 0n, again: 128n })
      for (const [round, places] of shown.entries()) {
        const transfersShown = places.map((place) => ({
          transaction: TRANSACTION,
          logIndex: Number(place.slice(1)),
          blockNumber: 100n + BigInt(round),
          sender: place.startsWith('A') ? ALICE : BOB,
          amount: 300_000n,
        }))
        const scan = { fromBlock: 1n, toBlock: 200n, transfers: transfersShown, mayMoveFrom: 1n }
        await record(db, till, scan, systemRandom)
        if (round === 0)
          await db.query(`update arrivals set state = 'refunded', reason = log_index::text where till = $1`, [till])
      }
      const { rows } = await db.query<{ sender: string; reason: string | null; log_index: number; state: string }>(
        'select sender, reason, log_index, state from arrivals where till = $1 order by reason nulls last, log_index',
        [till],
      )
      assert.deepEqual(
        rows.map(({ sender, reason, log_index, state }) => {
          const who = sender === ALICE ? 'A' : 'B'
          if (state !== 'refunded') return `${who}${log_index} new`
          return `${who}${reason} ${log_index < 0 ? 'aside' : `at ${log_index}`}`
        }),
        how === 'scan' ? kept : keptAsArrivals,
      )
    })

for (const state of ['refunding', 'refunded'])
  test(`E205: what is ${state}, and lies deep, is missing as soon as a node shows its transaction elsewhere without it, and is found again`, async () => {
    const { db } = store
    const till = `deep and ${state}`
    await openTill(db, till, { after: async () => 0n, again: 128n })
    const seen = (sender: Address, blockNumber: bigint) => [
      { transaction: TRANSACTION, logIndex: 1, blockNumber, sender, amount: 300_000n },
    ]
    const scan = (fromBlock: bigint, transfers: ReturnType<typeof seen>) =>
      recordScan(db, till, { fromBlock, toBlock: fromBlock + 299n, transfers, mayMoveFrom: fromBlock }, systemRandom)
    const missing = async () => (await db.query('select from missing_settlements where till = $1', [till])).rowCount
    await scan(1n, seen(ALICE, 10n))
    await db.query(`update arrivals set state = $2 where till = $1`, [till, state])
    await scan(301n, seen(BOB, 400n))
    assert.equal(await missing(), 1)
    await recordArrivals(db, till, { transfers: seen(ALICE, 10n), mayMoveFrom: 0n }, systemRandom)
    assert.equal(await missing(), 0)
    const { rows } = await db.query('select state from arrivals where till = $1 and log_index = 1', [till])
    assert.deepEqual(rows, [{ state }])
  })
