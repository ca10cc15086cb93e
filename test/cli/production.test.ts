import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { createWalletClient, http, keccak256, parseAbi, toBytes } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { sandboxKey } from '../../src/config/published.ts'
import { sandboxContracts } from '../../src/sandbox/foundation.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { enter, tokenIn } from '../operations/people-desk.ts'
import { post } from '../support/buyers.ts'
import { freePort } from '../support/free-port.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { productionEnv } from '../support/production.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { type Env, newDataDir, openShop, root, type Sandbox } from './sutler.ts'
import { asked, refusedStart, typed } from './typed.ts'

// Production is configuration alone: two replicas on PostgreSQL, as compose.yaml runs them. The test networks are those of a sandbox, which
// answers as Base Sepolia and Tempo Moderato do; everything else is what an operator would set.

let networks: TestShop
let database: TestDatabase
let replicas: readonly Sandbox[]
const dataDir = newDataDir()

before(async () => {
  ;[networks, database] = await Promise.all([startShop({ withSandboxRoutes: true }), createDatabase()])
  const ports = [await freePort(), await freePort()]
  const configured = configuration(networks.url, `http://localhost:${ports[0]}`, database.url)
  await furnish(networks.url, configured)
  replicas = await Promise.all(ports.map((port) => openShop({ ...configured, PORT: String(port) }, dataDir)))
})
after(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  await networks.stop()
  await database.drop()
  rmSync(dataDir, { recursive: true })
})

function configuration(rpc: string, baseUrl: string, databaseUrl: string): Env {
  const { sale, craftController } = sandboxContracts(demoAddressOf('deployer'))
  return productionEnv({
    SUTLER_BASE_URL: baseUrl,
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    SUTLER_LOG: 'warn',
    SUTLER_CONTACT_EMAIL: 'shop@operator.test',
    SUTLER_X402_NETWORK: 'base-sepolia',
    SUTLER_X402_RPC_URL: `${rpc}/sandbox/rpc/84532`,
    SUTLER_MPP_NETWORK: 'tempo-moderato',
    SUTLER_MPP_RPC_URL: `${rpc}/sandbox/rpc/42431`,
    SUTLER_GAME_CHAIN_ID: '84532',
    SUTLER_GAME_RPC_URL: `${rpc}/sandbox/rpc/84532`,
    SUTLER_SALE_CONTRACT: sale,
    SUTLER_SALE_IDS: '391,392',
    SUTLER_CRAFT_CONTROLLER: craftController,
    // No load balancer stands before them that would have to notice a stop.
    SUTLER_DRAIN_SECONDS: '0',
    // A sandbox is one node.
    SUTLER_SECOND_OPINION_FROM: 'never',
  })
}

/** What a studio does once: money for its keys, and roles from whoever deployed the contracts. */
async function furnish(url: string, env: Env): Promise<void> {
  const addressIn = (option: string) => privateKeyToAccount(env[option] as `0x${string}`).address
  for (const option of Object.keys(env).filter(
    (name) => /_(SETTLER|TREASURY|MINTER|CRAFTER)_KEY$/.test(name) || /^SUTLER_(MINTER|CRAFTER)_KEY$/.test(name),
  ))
    assert.equal((await fetch(`${url}/sandbox/faucet`, post({ address: addressIn(option) }))).status, 200)
  const deployer = createWalletClient({
    account: privateKeyToAccount(sandboxKey('deployer').reveal() as `0x${string}`),
    chain: baseSepolia,
    transport: http(`${url}/sandbox/rpc/84532`),
  })
  const abi = parseAbi(['function grantRole(bytes32 role, address account)'])
  for (const [contract, role, option] of [
    ['SUTLER_SALE_CONTRACT', 'MINTER_ROLE', 'SUTLER_MINTER_KEY'],
    ['SUTLER_CRAFT_CONTROLLER', 'OPERATOR_ROLE', 'SUTLER_CRAFTER_KEY'],
  ] as const)
    await deployer.writeContract({
      address: env[contract] as `0x${string}`,
      abi,
      functionName: 'grantRole',
      args: [keccak256(toBytes(role)), addressIn(option)],
    })
}

test('two replicas by configuration alone: what one sells, the other shows and gives back', async () => {
  verifies('D12.4')
  const [first, second] = replicas
  const baseUrl = first!.env['SUTLER_BASE_URL']!
  const beneficiary = demoAddressOf('demo')
  const buyer = { ...first!.env, PRIVATE_KEY: sandboxKey('demo').reveal() }
  const rpc = networks.url
  const bought = await Promise.all(
    ['x402', 'mpp'].map((rail) =>
      asked<{ paid: { transaction: string }; body: { status: string; nfts: unknown[] } }>(
        [
          ...['pay', `${baseUrl}/agentic/${rail}/buy`, '--rpc', `${rpc}/sandbox/rpc/42431`],
          ...['--body', JSON.stringify({ saleId: 392, beneficiary })],
        ],
        buyer,
      ),
    ),
  )
  for (const { body } of bought) assert.deepEqual([body.status, body.nfts.length], ['confirmed', 1])
  const there = ['--url', second!.url, '--reason', 'a rehearsal']
  const refund = ['refund', await orderOf(bought[0]!), ...there]
  // The shop's own token gives nothing back: it lets in who does.
  assert.match((await typed(refund, second!.env)).stderr, /needs the role support; the shop's own token only reads/)
  const file = join(dataDir, 'mara.key')
  const add = ['operators', 'add', 'mara', '--role', 'admin', '--token-file', file, '--url', second!.url]
  assert.equal((await asked<{ token: unknown }>(add, second!.env)).token, null, 'it is in the file alone')
  const mara = { SUTLER_TOKEN_FILE: file }
  const { status } = await asked<{ status: string }>(refund, { ...second!.env, ...mara })
  assert.equal(status, 'refunded')
  const { accounts } = await asked<{ accounts: { difference: string }[] }>(['reconcile'], { ...first!.env, ...mara })
  assert.deepEqual(
    accounts.map(({ difference }) => difference),
    ['0', '0'],
  )
  assert.equal((await fetch(`${second!.url}/sandbox`)).status, 404, 'nothing of the sandbox is here')
})

async function orderOf({ paid }: { paid: { transaction: string } }): Promise<string> {
  const { env, url } = replicas[1]!
  const found = await asked<{ order: { orderId: string } }>(['orders', 'show', paid.transaction, '--url', url], env)
  return found.order.orderId
}

test('a sandbox does not start on the store of a production, and leaves nothing in it', async () => {
  verifies('D12.9', 'C-10')
  const env = { DATABASE_URL: database.url, SUTLER_DATA_DIR: dataDir, PORT: String(await freePort()) }
  const { code, stdout } = await refusedStart(env, ['--json'])
  const { error } = JSON.parse(stdout) as { error: { code: string; message: string } }
  assert.deepEqual([code, error.code], [1, 'other_mode'], stdout)
  assert.match(error.message, /SUTLER_MODE=production/)
  const { players } = await asked<{ players: unknown[] }>(['players', 'list'], replicas[0]!.env)
  assert.deepEqual(players, [], 'the players of a sandbox were not put in')
})

test('doctor: keys, roles and balances of a production are in order, and its prices can be read', async () => {
  const { findings } = await asked<{ findings: { area: string; what: string; severity: string }[] }>(
    ['doctor'],
    replicas[0]!.env,
  )
  const bad = findings.filter(({ severity }) => severity === 'fail')
  assert.deepEqual(bad, [])
  const keys = findings.filter(({ area }) => area === 'keys').map(({ what }) => what)
  assert.ok(
    keys.includes('MINTER_ROLE') && keys.includes('OPERATOR_ROLE') && keys.includes('recipient of mpp'),
    keys.join(),
  )
})

test('an admin who cannot get in any more gets a link from the store itself, in a production only', async () => {
  verifies('D17.7')
  const { url, env } = replicas[0]!
  const { SUTLER_OPERATOR_TOKEN: _, ...there } = env
  const line = ['operators', 'link', 'mara', '--by-store']
  const made = await asked<{ name: string; role: string; link: { url: string } }>(line, there)
  assert.deepEqual([made.name, made.role], ['mara', 'admin'])
  assert.equal((await enter(url, { token: tokenIn({ link: { ...made.link, expiresAt: '' } }) })).status, 200)
  const codeIn = async (words: readonly string[], given: Env) =>
    (JSON.parse((await typed([...words, '--json'], given)).stdout) as { error: { code: string } }).error.code
  assert.equal(await codeIn(['operators', 'link', 'nobody', '--by-store'], there), 'no_operator')
  assert.equal(await codeIn(line, {}), 'sandbox')
})

test('the first admin comes by a link that a terminal shows or a command makes, and that no log has', {
  skip: spawnSync('script', ['--version']).status !== 0 && 'there is no script(1) to make a terminal with',
}, async () => {
  verifies('O-08')
  // As before anybody was let in.
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query("update operators set role = 'viewer'")
  await client.end()
  const replica = replicas[0]!
  const { SUTLER_OPERATOR_TOKEN: _, ...people } = replica.env
  const there = { ...people, SUTLER_CONSOLE: 'on', PORT: String(await freePort()) }
  const line = `"${process.execPath}" "${join(root, 'bin/sutler.js')}" start`
  const { PATH = '' } = process.env
  const child = spawn('script', ['--quiet', '--command', line, '/dev/null'], {
    env: { PATH, ...there },
    cwd: tmpdir(),
  })
  let shown = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    shown += text
  })
  const exit = once(child, 'exit')
  process.once('exit', () => void child.kill())
  await until(() => /enter#sln_[\w-]{43}&first/.test(shown) && shown.includes('the shop is open'))
  child.stdin.write('\u0003')
  await exit

  // By the store alone, as where people run a shop without a token.
  const { link } = await asked<{ link: { url: string } }>(['operators', 'link'], there)
  const [, token] = /#(sln_[\w-]{43})&first$/.exec(link.url)!
  const entered = await enter(replica.url, { token: token!, name: 'Founder' })
  assert.equal(entered.status, 200, await entered.text())
  const again = await typed(['operators', 'link', '--json'], there)
  assert.equal((JSON.parse(again.stdout) as { error: { code: string } }).error.code, 'has_admin')

  const { stderr } = await replica.stop()
  assert.match(stderr, /nobody runs this shop yet: `sutler operators link`/)
  assert.doesNotMatch(stderr, /sln_/)
})
