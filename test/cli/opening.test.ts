import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { parseEnv } from 'node:util'
import { loadConfig } from '../../src/config/load.ts'
import { forget } from '../../src/store/jobs.ts'
import { createJournal } from '../../src/store/sends/journal.ts'
import { post } from '../support/buyers.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { leaseOn } from '../support/lease.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { type Env, root } from './sutler.ts'
import { typed } from './typed.ts'

// From an empty folder to a shop that could open, by the commands alone. The networks are those of a sandbox.

const TILL = '0x1111111111111111111111111111111111111111'
const OWNER = '0x2222222222222222222222222222222222222222'

let networks: TestShop
let store: TestStore
const home = process.cwd()

before(async () => {
  ;[networks, store] = await Promise.all([startShop({ withSandboxRoutes: true }), openStore('postgres')])
})
after(async () => {
  await networks.stop()
  await store.drop()
})
beforeEach(() => process.chdir(mkdtempSync(join(tmpdir(), 'sutler-opening-'))))
afterEach(() => {
  const folder = process.cwd()
  process.chdir(home)
  rmSync(folder, { recursive: true })
})

/** As a process in this folder would see it. */
function env(): Env {
  return existsSync('.env') ? (parseEnv(readFileSync('.env', 'utf8')) as Env) : {}
}
const run = (...args: readonly string[]) => typed(args, env())

const choices = () => {
  const rpc = `${networks.url}/sandbox/rpc`
  const nodes = `base-sepolia=${rpc}/84532,tempo-moderato=${rpc}/42431`
  return ['--yes', '--url', 'https://shop.test', '--networks', 'base-sepolia,tempo-moderato', '--rpc', nodes]
}
const init = (...more: readonly string[]) => run('init', ...choices(), '--pay-to', TILL, ...more)

test('init makes a configuration that a start takes as it is, with keys that nobody else can read, and overwrites nothing', async () => {
  const first = await init('--database', 'postgres://db/sutler')
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /Next: .*sutler contracts deploy --key-file keys\/deployer\.key/)
  const loaded = loadConfig(env())
  assert.equal(loaded.mode, 'production')
  for (const file of ['.env', ...readdirSync('keys').map((name) => `keys/${name}`)])
    assert.equal(statSync(file).mode & 0o777, 0o600, file)
  const secrets = readdirSync('keys').map((name) => readFileSync(`keys/${name}`, 'utf8').trim())
  for (const secret of secrets) assert.ok(!first.stdout.includes(secret), 'no secret is shown')
  const before = readFileSync('.env', 'utf8')
  const again = await init()
  assert.equal(again.code, 1)
  assert.match(again.stderr, /is there already, and nothing was made or changed/)
  assert.equal(readFileSync('.env', 'utf8'), before)
})

test('init asks for no more than what is sold, and says what is wrong with the rest', async () => {
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['--yes'], /--url is missing .* nothing was made/],
    [[...choices(), '--pay-to', '0x12'], /is not an address .* nothing was done/],
    [
      ['--yes', '--url', 'https://a.test', '--networks', 'mars'],
      /there is no network mars; there are base, .* nothing was made/,
    ],
    [[...choices(), '--pay-to', TILL, '--surfaces', 'shop,moon'], /there is no surface moon/],
  ]
  for (const [args, words] of wrong) {
    const { code, stderr } = await run('init', ...args)
    assert.equal(code, 2, stderr)
    assert.match(stderr, words)
  }
  assert.deepEqual(readdirSync('.'), [], 'nothing was made')
  const small = await init('--surfaces', 'shop,gateway')
  assert.equal(small.code, 0, small.stderr)
  assert.ok(!existsSync('keys/minter.key') && !existsSync('keys/deployer.key'))
  assert.match(small.stdout, /then sutler doctor/)
})

test('init asks whoever sits at a terminal, offers what is usual, and takes it for an empty answer', {
  skip: spawnSync('script', ['--version']).status !== 0 && 'there is no script(1) to make a terminal with',
}, async () => {
  const rpc = `${networks.url}/sandbox/rpc`
  const nodes = `base-sepolia=${rpc}/84532,tempo-moderato=${rpc}/42431`
  const line = `"${process.execPath}" "${join(root, 'bin/sutler.js')}" init`
  // It hands what we write to the command as typed, and gives us what the command shows.
  const child = spawn('script', ['--quiet', '--return', '--command', line, '/dev/null'], { cwd: process.cwd() })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text
  })
  const exit = once(child, 'exit')
  for (const [question, answer] of [
    ['Public address of the shop', 'https://shop.test'],
    ['Networks (base, base-sepolia, tempo, tempo-moderato) [base,tempo]', 'base-sepolia,tempo-moderato'],
    ['Cold address that receives the money', TILL],
    ['RPC addresses', nodes],
    ['What is sold (sale, shop, gateway, craft) [sale,shop,gateway,craft]', ''],
  ] as const) {
    await until(() => shown.includes(question))
    child.stdin.write(`${answer}\n`)
  }
  assert.deepEqual(await exit, [0, null], shown)
  const { SUTLER_BASE_URL, SUTLER_PROXY_HOPS, SUTLER_X402_PAY_TO, SUTLER_CRAFTER_KEY_FILE } = env()
  assert.deepEqual(
    [SUTLER_BASE_URL, SUTLER_PROXY_HOPS, SUTLER_X402_PAY_TO, SUTLER_CRAFTER_KEY_FILE],
    ['https://shop.test', '1', TILL, 'keys/crafter.key'],
  )
})

test('keys show what each has and may, never a secret; doctor names each next step until only the shop itself is missing', async () => {
  await init()
  const doctor = async () => JSON.parse((await run('doctor', '--json')).stdout) as { grade: string; next: string }
  assert.match((await doctor()).next, /sutler contracts deploy/)
  const listed = JSON.parse((await run('keys', '--json')).stdout) as {
    keys: { role: string; address: string | null }[]
  }
  const funded = listed.keys.flatMap(({ address }) => (address === null ? [] : [address]))
  const { address: deployer } = JSON.parse((await run('keys', 'make', 'deployer', '--json')).stdout) as {
    address: string
  }
  for (const address of [...funded, deployer]) await fetch(`${networks.url}/sandbox/faucet`, post({ address }))
  const deploy = ['--key-file', 'keys/deployer.key', '--owner', OWNER, '--craft-token', 'Ember:EMBER']
  assert.equal((await run('contracts', 'deploy', ...deploy, '--lot-manager', 'deployer')).code, 0)
  const { stdout } = await run('keys')
  assert.match(stdout, /minter +0x\w{40} +1\.000000 for gas, is minter/)
  assert.match(stdout, /mpp-treasury +0x\w{40} +1000\.00 for refunds/)
  for (const name of readdirSync('keys')) assert.ok(!stdout.includes(readFileSync(`keys/${name}`, 'utf8').trim()), name)
  writeFileSync('.env', `${readFileSync('.env', 'utf8')}SUTLER_SALE_IDS=1\n`)
  const last = await doctor()
  assert.deepEqual([last.grade, /sutler start/.test(last.next)], ['F', true], last.next)
})

test('a key is rotated when its work is done, and not before; the old file stays', async () => {
  await init('--database', store.place.url!)
  const minter = JSON.parse((await run('keys', '--json')).stdout) as {
    keys: { role: string; address: `0x${string}` }[]
  }
  const { address: signer } = minter.keys.find(({ role }) => role === 'minter')!
  const orderId = 'ord_rotating'
  const lease = await leaseOn(store.db, orderId)
  const fees = { maxFeePerGas: 1n, maxPriorityFeePerGas: 1n }
  const call = { to: TILL, data: '0x', gas: 1n } as const
  const version = { raw: '0x01', hash: `0x${'01'.repeat(32)}`, fees } as const
  const send = { chainId: 84532, signer, nonce: 0, orderId, step: 'mint', call, versions: [version], landing: null }
  await createJournal(store.db).record(lease, send, 0)
  const before = readFileSync('.env', 'utf8')
  const refused = await run('keys', 'rotate', 'minter')
  assert.equal(refused.code, 1)
  assert.match(
    refused.stderr,
    /has signed for 1 orders that are not finished, such as ord_rotating; nothing was made or changed/,
  )
  assert.equal(readFileSync('.env', 'utf8'), before)
  // The settler has signed nothing.
  assert.equal((await run('keys', 'rotate', 'settler')).code, 0)
  assert.ok(await forget(store.db, lease))
  const rotated = await run('keys', 'rotate', 'minter', '--json')
  assert.equal(rotated.code, 0, rotated.stderr)
  const { path, address, oldAddress, next } = JSON.parse(rotated.stdout) as Record<string, string> & { next: string[] }
  assert.deepEqual([path, oldAddress], ['keys/minter-2.key', signer])
  assert.equal(env()['SUTLER_MINTER_KEY_FILE'], path)
  assert.ok(existsSync('keys/minter.key'))
  assert.deepEqual(next.slice(1, 2), [`sutler contracts grant minter ${address}`])
})
