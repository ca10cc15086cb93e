import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { privateKeyToAddress } from 'viem/accounts'
import { claimFile } from '../../src/base/data-folder.ts'
import { post } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { type Env, sutler } from './sutler.ts'
import { typed } from './typed.ts'

// The commands as an operator types them, in a folder of their own, on the chain of a sandbox that answers as Base Sepolia does.

const OWNER = '0x1111111111111111111111111111111111111111'

let networks: TestShop
let cwd: string
let env: Env

before(async () => {
  networks = await startShop({ withSandboxRoutes: true })
})
after(async () => {
  await networks.stop()
})

const key = () => `0x${randomBytes(32).toString('hex')}` as const

const home = process.cwd()

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'sutler-contracts-'))
  process.chdir(cwd)
  env = {
    SUTLER_GAME_CHAIN_ID: '84532',
    SUTLER_GAME_RPC_URL: `${networks.url}/sandbox/rpc/84532`,
    SUTLER_MINTER_KEY: key(),
    SUTLER_CRAFTER_KEY: key(),
  }
})

afterEach(() => {
  process.chdir(home)
  rmSync(cwd, { recursive: true })
})

const contracts = (...args: readonly string[]) => typed(['contracts', ...args], env)

async function deployerKey(): Promise<string> {
  const secret = key()
  const address = privateKeyToAddress(secret)
  assert.equal((await fetch(`${networks.url}/sandbox/faucet`, post({ address }))).status, 200)
  writeFileSync(join(cwd, 'deployer.key'), `${secret}\n`, { mode: 0o600 })
  return address
}

test('contracts are deployed, checked on the chain, and filled into .env; a second run sends nothing', async () => {
  await deployerKey()
  writeFileSync(join(cwd, '.env'), '# mine\nSUTLER_NAME=Studio\nSUTLER_SALE_CONTRACT=\n')
  const line = ['deploy', '--key-file', 'deployer.key', '--owner', OWNER, '--craft-token', 'Ember:EMBER']
  const first = await sutler(['contracts', ...line], { env, cwd })
  assert.equal(first.code, 0, first.stderr)
  assert.match(first.stdout, /19 transactions were sent, and are mined/)
  assert.doesNotMatch(first.stdout, /WRONG/)
  const filled = readFileSync(join(cwd, '.env'), 'utf8')
  assert.match(
    filled,
    /^# mine\nSUTLER_NAME=Studio\nSUTLER_SALE_CONTRACT=0x\w{40}\nSUTLER_CRAFT_CONTROLLER=0x\w{40}\n$/,
  )
  const again = await contracts('deploy', '--key-file', 'deployer.key')
  assert.match(again.stdout, /nothing was sent/)
  assert.equal(readFileSync(join(cwd, '.env'), 'utf8'), filled)
  const status = await contracts('status')
  assert.equal(status.code, 0, status.stdout)
  assert.match(status.stdout, new RegExp(`admin of sale +${OWNER}`))
})

test('a Safe gets one file, and its run is what fills in .env', async () => {
  writeFileSync(join(cwd, '.env'), '')
  const line = ['deploy', '--only', 'sale', '--owner', OWNER, '--unsigned', 'deploy.json']
  const written = await contracts(...line)
  assert.equal(written.code, 0, written.stderr)
  assert.match(written.stdout, /2 unsigned transactions are in deploy\.json/)
  const file = JSON.parse(readFileSync(join(cwd, 'deploy.json'), 'utf8')) as { version: string; chainId: string }
  assert.deepEqual([file.version, file.chainId], ['1.0', '84532'])
  assert.equal(readFileSync(join(cwd, '.env'), 'utf8'), '')
  const again = await contracts(...line)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /deploy\.json exists and was left as it is, and nothing was sent/)
  assert.equal((await contracts('status')).code, 1, 'nothing stands there yet')
})

test('the owner gives and takes roles and pauses; the admin does not remove itself', async () => {
  const address = await deployerKey()
  const line = ['deploy', '--key-file', 'deployer.key', '--only', 'sale', '--salt', 'own']
  const deployed = await contracts(...line, '--json')
  const { contracts: made } = JSON.parse(deployed.stdout) as { contracts: { sale: string } }
  env = { ...env, SUTLER_SALE_CONTRACT: made.sale }
  const signed = ['--key-file', 'deployer.key']
  assert.match(
    (await contracts('revoke', 'admin', address, ...signed)).stderr,
    /nobody might be left as admin; nothing was sent/,
  )
  assert.equal((await contracts('grant', 'pauser', OWNER, ...signed)).code, 0)
  assert.match((await contracts('grant', 'pauser', OWNER, ...signed)).stdout, /nothing was sent/)
  assert.equal((await contracts('pause', ...signed)).code, 0)
  const paused = await contracts('status')
  assert.deepEqual([paused.code, /WRONG +sale +is paused/.test(paused.stdout)], [1, true])
  assert.equal((await contracts('unpause', 'sale', ...signed)).code, 0)
  assert.equal((await contracts('status')).code, 0)
})

test('of two that deploy at once from one folder, one sends; the other says so, and finds everything done afterwards', async () => {
  const address = await deployerKey()
  const line = ['contracts', 'deploy', '--key-file', 'deployer.key', '--only', 'sale', '--owner', OWNER, '--json']
  const both = await Promise.all([1, 2].map(() => sutler(line, { env, cwd })))
  const sent = both.flatMap(
    ({ stdout }) => (JSON.parse(stdout) as { sent?: { transaction: string | null }[] }).sent ?? [],
  )
  for (const { code, stdout } of both.filter((one) => one.code !== 0))
    assert.match(`${code} ${stdout}`, /^1 .*another command is sending transactions on chain 84532 .* nothing was sent/)
  const count = Number(await chain('eth_getTransactionCount', [address, 'latest']))
  assert.equal(sent.filter(({ transaction }) => transaction !== null).length, count)
  // However they fell on each other above, here somebody surely has it.
  const claim = claimFile(join(cwd, 'contracts.84532.lock'))
  assert.match((await typed(line, env)).stdout, /"code":"in_use"/)
  claim!.release()
  assert.equal((await contracts(...line.slice(1))).code, 0)
  assert.equal(Number(await chain('eth_getTransactionCount', [address, 'latest'])), count)
})

async function chain(method: string, params: readonly unknown[]): Promise<unknown> {
  const request = post({ jsonrpc: '2.0', id: 1, method, params })
  return ((await (await fetch(`${networks.url}/sandbox/rpc/84532`, request)).json()) as { result: unknown }).result
}
