import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { TransferView } from '../../src/api/operator/transfer-rows.ts'
import { parseCsv } from '../../src/base/csv.ts'
import { typed } from '../cli/typed.ts'
import { json } from '../shop/support.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { AT_ONCE, asOperator, reconcileRail } from './desk.ts'
import { mppStranger, type Stranger, x402Stranger } from './strangers.ts'

// Money that came without a purchase: listed, found by any name, decided about one by one or all at once, and its payer reads what was decided.

const DOLLAR = 1_000_000n
const FOR_A_PERSON = { ...AT_ONCE, returnsUnmatched: false }

let shop: TestShop
before(async () => {
  shop = await startShop({ env: { SUTLER_RECONCILE_SECONDS: '300' } })
})
after(() => shop.stop())

const get = async <Answer>(path: string) => json<Answer>(await asOperator(shop, path), 200)
const list = async (query: string) =>
  get<{ transfers: TransferView[]; next: string | null }>(`/operator/transfers?${query}`)
const run = (...args: string[]) =>
  typed([...args, '--url', shop.url, '--token', shop.config.operatorToken!.reveal()], {})

/** The same list for a spreadsheet, by line. */
async function tableAt(path: string): Promise<readonly (readonly string[])[]> {
  const answer = await asOperator(shop, path, { headers: { accept: 'text/csv' } })
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'text/csv; charset=utf-8'])
  return parseCsv(await answer.text()).map(({ cells }) => cells)
}

test('players come as a table too, all of them or those who are looked for', async () => {
  const { players } = await get<{ players: { playerId: string; nickname: string }[] }>('/operator/players?limit=500')
  const [columns, ...lines] = await tableAt('/operator/players?limit=1')
  assert.equal(columns!.join(), 'playerId,nickname,level,wallets')
  assert.deepEqual(
    lines.map((cells) => cells[0]),
    players.map(({ playerId }) => playerId),
  )
  for (const list of ['players', 'transfers'])
    assert.equal((await asOperator(shop, `/operator/${list}?cursor=bm9uZQ&format=csv`)).status, 400, list)
  const [, ...found] = await tableAt('/operator/players?q=Demo&format=csv')
  assert.ok(found.length > 0 && found.every((cells) => cells[1]!.startsWith('Demo')), found.join())
})

for (const [name, come] of [
  ['x402', x402Stranger],
  ['mpp', mppStranger],
] as const)
  describe(`money without a purchase on ${name}`, () => {
    let stranger: Stranger
    before(async () => {
      stranger = await come(shop)
    })
    /** Sends so many dollars, one transfer each, and has the shop find them. */
    async function give(count: number): Promise<readonly string[]> {
      const given: string[] = []
      for (let i = 0; i < count; i++) given.push(await stranger.give(DOLLAR + BigInt(i)))
      await reconcileRail(shop, stranger.rail, FOR_A_PERSON)
      return given
    }

    test('is listed by state and rail, and found by transaction, id and sender', async () => {
      const [transaction] = await give(1)
      const { transfers } = await list(`state=held&rail=${name}`)
      const [arrival] = transfers
      assert.deepEqual(
        [transfers.length, arrival?.paymentTx, arrival?.amount, arrival?.protocol],
        [1, transaction, '1.00', name],
      )
      const found = async (path: string) =>
        (await get<{ transfers: TransferView[] }>(path)).transfers.map(({ transferId }) => transferId)
      const id = arrival!.transferId
      assert.deepEqual(await found(`/operator/transfers/${transaction}`), [id])
      assert.deepEqual(await found(`/operator/transfers/${id}`), [id])
      for (const q of [transaction, stranger.address]) {
        const { matches } = await get<{ matches: { id: string }[] }>(`/operator/search?q=${q}`)
        assert.deepEqual(
          matches.map((match) => match.id),
          [id],
        )
      }
      assert.equal((await asOperator(shop, '/operator/transfers/0xnothing')).status, 404)
      const [columns, ...lines] = await tableAt(`/operator/transfers?state=held&rail=${name}`)
      assert.deepEqual(columns!.slice(0, 3), ['transferId', 'status', 'reason'])
      assert.deepEqual(
        lines.map((cells) => cells.slice(0, 2)),
        [[id, 'held']],
      )
    })

    test('orders show finds it, and says that nothing was bought with it', async () => {
      const { transfers } = await list(`state=held&rail=${name}`)
      const { code, stdout } = await run('orders', 'show', transfers[0]!.paymentTx)
      assert.equal(code, 0)
      assert.ok(stdout.startsWith(`${transfers[0]!.transferId}  held  money without a purchase`), stdout)
    })

    test('that is kept is told to its payer as kept, by transaction and by a second presentation', async () => {
      const { transfers } = await list(`state=held&rail=${name}`)
      const { transferId, paymentTx } = transfers[0]!
      const { code, stderr } = await run('transfers', 'keep', transferId, '--by', 'mara')
      assert.equal(code, 0, stderr)
      const answer = await json<{ detail: string; retry: { action: string }; refund: unknown }>(
        await fetch(`${shop.url}/payments/${paymentTx}`),
        409,
      )
      assert.match(answer.detail, /The operator decided that it stays\./)
      assert.doesNotMatch(answer.detail, /goes? back|way back/)
      assert.deepEqual([answer.retry.action, answer.refund], ['none', null])
      const [kept] = (await list(`state=kept&rail=${name}`)).transfers
      assert.deepEqual([kept?.transferId, kept?.decidedBy], [transferId, 'mara'])
    })

    test('all that is held goes back by one command, each told; what is refused is named, and ends with 1', async () => {
      const before = await stranger.rail.balance(shop, stranger.address)
      await give(3)
      const pages = [await list(`state=held&rail=${name}&limit=2`)]
      pages.push(await list(`state=held&rail=${name}&limit=2&cursor=${pages[0]!.next}`))
      const ids = pages.flatMap(({ transfers }) => transfers.map(({ transferId }) => transferId))
      assert.deepEqual([new Set(ids).size, pages[1]!.next], [3, null])
      const { code, stdout, stderr } = await run('transfers', 'refund', '--all', '--rail', name, '--by', 'mara')
      assert.deepEqual([code, stdout], [0, '3 decided\n'], stderr)
      for (const id of ids) assert.match(stderr, new RegExp(`${id}  returned: 0x[0-9a-f]{64}`))
      const fees = before - (await stranger.rail.balance(shop, stranger.address))
      assert.ok(fees >= 0n && fees < DOLLAR, `${fees}`)
      assert.equal((await list(`state=held&rail=${name}`)).transfers.length, 0)
      const again = await run('transfers', 'refund', ids[0]!, 'trf_nothing')
      assert.deepEqual([again.code, again.stdout], [1, '0 decided, 2 refused\n'])
      assert.match(again.stderr, /is returned; there is nothing to decide[\s\S]*there is no transfer trf_nothing/i)
    })
  })

test('nothing and everything at once are not understood, and an unknown state is refused', async () => {
  assert.equal((await run('transfers', 'refund')).code, 2)
  assert.equal((await run('transfers', 'keep', 'trf_1', '--all')).code, 2)
  assert.equal((await run('transfers', 'list', '--state', 'lost')).code, 2)
  assert.equal((await asOperator(shop, '/operator/transfers?state=lost')).status, 400)
  const gone = await asOperator(shop, '/operator/transfers/trf_1', post({ decision: 'keep' }))
  assert.equal(gone.status, 404)
})
