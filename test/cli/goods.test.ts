import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { sandboxKey } from '../../src/config/published.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { type Env, root, sutler } from './sutler.ts'
import { typed } from './typed.ts'

// What is sold, changed by its commands as somebody types them.

let shop: TestShop
let folder: string
let env: Env
before(async () => {
  shop = await startShop({ withSandboxRoutes: true })
  folder = mkdtempSync(join(tmpdir(), 'sutler-goods-'))
  env = { PORT: String(shop.config.http.port) }
})
after(async () => {
  await shop.stop()
  rmSync(folder, { recursive: true })
})

const run = (...args: string[]) => typed(args, env)
const file = (name: string) => join(folder, name)

const operatorReads = async (path: string) =>
  (await fetch(shop.url + path, { headers: { authorization: 'Bearer sandbox-operator' } })).json()

test('the blocks of the page about the catalog do what it says, line by line', async () => {
  const page = readFileSync(join(root, 'docs/operating/catalog.md'), 'utf8')
  const section = /\n## What is sold\n(.*?)\n## /s.exec(page)![1]!
  const blocks = [...section.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block)
  assert.equal(blocks.length, 4)
  const said = await inFolder(async () => {
    let all = ''
    for (const line of await linesOf(blocks.join(''))) {
      const { code, stdout, stderr } = await run(...line)
      assert.equal(code, 0, `${line.join(' ')}: ${stderr}`)
      all += stdout
    }
    return all
  })
  assert.match(said, /torch:1 +Torch +1\.25 +100 +0 +5 +1 +2026-01-01T00:00 to …\n/)
  assert.match(said, /0 would be added, 0 would be changed, \d+ would stay as they were/)
  assert.match(said, /playerLookup costs: 0\.05 USD \(usually 0\.02\)/)
  assert.match(said, /391 +Initiate's Pass +9\.00/)

  const { events } = (await operatorReads('/events?limit=1000')) as {
    events: { type: string; data: { deed: string; by: string } }[]
  }
  const deeds = events.filter(({ type }) => type === 'operator.acted').map(({ data }) => data)
  assert.deepEqual(
    deeds.map(({ deed }) => deed),
    [
      ...['item.added', 'item.changed', 'item.changed', 'discount.changed', 'item.hidden', 'item.shown'],
      ...['price.changed', 'price.changed', 'lot.prepared', 'lot.prepared', 'lot.described', 'lot.hidden', 'lot.shown'],
    ],
  )
  assert.ok(deeds.every(({ deed, by }) => by === (deed === 'lot.prepared' ? 'operator' : 'mara')))
  const batch = JSON.parse(readFileSync(file('lot-400.json'), 'utf8')) as {
    version: string
    chainId: string
    transactions: { value: string; data: string }[]
  }
  assert.deepEqual([batch.version, batch.chainId, batch.transactions[0]!.value], ['1.0', '84532', '0'])
})

/** What a shell makes of the lines of a block: the words after `npx sutler` of each. */
async function linesOf(block: string): Promise<readonly (readonly string[])[]> {
  const { stdout } = await promisify(execFile)('bash', [
    ...['-e', '-c', `npx() { shift; printf '%s\\t' "$@"; echo; }\n${block}`],
  ])
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.trimEnd().split('\t'))
}

/** Files without a folder are made in ours. */
async function inFolder<Result>(work: () => Promise<Result>): Promise<Result> {
  const home = process.cwd()
  process.chdir(folder)
  try {
    return await work()
  } finally {
    process.chdir(home)
  }
}

test('a wrong word ends with 1, and the line that it offers works', async () => {
  const { code, stderr } = await run('items', 'change', 'keys:5', '--price', '0', '--limit', 'few', '--by', 'mara')
  assert.equal(code, 1)
  assert.match(stderr, /--price 0 is no price.*; --limit is a whole number from 1 on; nothing was changed/)
  const line = /this would work: sutler (.*)$/m.exec(stderr)![1]!
  assert.equal(line, 'items change keys:5 --price 1.50 --limit 5 --by mara')
  assert.equal((await run(...line.split(' '))).code, 0)
  const price = await run('prices', 'change', 'burn', '0.0000001')
  assert.match(price.stderr, /six decimals.*nothing was changed\n {2}this would work: sutler prices change burn 0\.05/)
})

test('a file is read from anywhere, never written over, and all of it is taken or nothing', async () => {
  writeFileSync(file('more.csv'), 'id,name,price\nlamp:1,Lamp,2.00\nlamp:2,Lamp,free\n')
  const broken = await run('items', 'import', file('more.csv'))
  assert.equal(broken.code, 1)
  assert.match(
    broken.stderr,
    /so nothing was changed\.\n {2}line 3: price free is not an amount .*this line would work: lamp:2,Lamp,1\.50/,
  )
  const again = await run('items', 'export', file('more.csv'))
  assert.deepEqual([again.code, /exists and was left as it is/.test(again.stderr)], [1, true])
  assert.match((await run('items', 'import', file('none.csv'))).stderr, /there is no file .*none\.csv, and nothing was/)
  const piped = await sutler(['prices', 'import', '-'], { env, input: 'good,price\nburn,0.004\n' })
  assert.match(piped.stdout, /^0 added, 1 changed/)
  const { items } = (await operatorReads('/operator/items')) as { items: { id: string }[] }
  assert.ok(!items.some(({ id }) => id.startsWith('lamp')))
})

test('a lot is signed here with the right key, and with no other', async () => {
  const terms = ['--name', 'Season Pass', '--price', '9.00', '--supply', '10', '--uri', 'https://a.example/1.json']
  writeFileSync(file('stranger.key'), sandboxKey('demo').reveal(), { mode: 0o600 })
  writeFileSync(file('open.key'), sandboxKey('deployer').reveal(), { mode: 0o644 })
  const seen = await run('lots', 'add', '401', ...terms, '--key-file', file('open.key'))
  assert.deepEqual([seen.code, /every user of this machine can read; run: chmod 600/.test(seen.stderr)], [1, true])
  const refused = await run('lots', 'add', '401', ...terms, '--key-file', file('stranger.key'))
  assert.deepEqual([refused.code, /Nothing was sent/.test(refused.stderr)], [1, true])
  writeFileSync(file('manager.key'), sandboxKey('deployer').reveal(), { mode: 0o600 })
  const sent = await run('lots', 'add', '401', ...terms, '--key-file', file('manager.key'))
  assert.match(sent.stdout, /mined as 0x[0-9a-f]{64}/)
  const { lots } = (await operatorReads('/operator/lots')) as { lots: { saleId: number; price: string }[] }
  assert.equal(lots.find(({ saleId }) => saleId === 401)?.price, '9.00')
  assert.match((await run('lots', 'add', '401', ...terms, '--unsigned', file('b.json'))).stderr, /a lot 401 already/)
})
