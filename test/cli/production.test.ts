import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, test } from 'node:test'
import { sandboxContracts } from '../../src/sandbox/foundation.ts'
import { sandboxKey } from '../../src/sandbox/keys.ts'
import { addressOf } from '../../src/sandbox/world.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { freePort } from '../support/shop.ts'
import { asked, type Env, openShop, type Sandbox, startSandbox } from './sutler.ts'

// Production is configuration alone: two replicas on PostgreSQL, as compose.yaml runs them. The test networks are those of a sandbox, which
// answers as Base Sepolia and Tempo Moderato do; everything else is what an operator would set.

let networks: Sandbox
let database: TestDatabase
let replicas: readonly Sandbox[]

before(async () => {
  ;[networks, database] = await Promise.all([startSandbox(), createDatabase()])
  const ports = [await freePort(), await freePort()]
  const configured = configuration(networks.url, `http://localhost:${ports[0]}`, database.url)
  replicas = await Promise.all(ports.map((port) => openShop({ ...configured, PORT: String(port) }, networks.dataDir)))
})
after(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  await networks.stop()
  networks.remove()
  await database.drop()
})

function configuration(rpc: string, baseUrl: string, databaseUrl: string): Env {
  const { sale, craftController } = sandboxContracts(addressOf('deployer'))
  const key = (role: Parameters<typeof sandboxKey>[0]) => sandboxKey(role).reveal()
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    SUTLER_MODE: 'production',
    SUTLER_BASE_URL: baseUrl,
    HOST: '127.0.0.1',
    DATABASE_URL: databaseUrl,
    SUTLER_LOG: 'error',
    SUTLER_OPERATOR_TOKEN: 'mQ3xT8vB1nK6wS9dF2gH5jL0pR4yU7zA',
    SUTLER_CONTACT_EMAIL: 'shop@operator.test',
    SUTLER_RECEIPT_KEY: privateKey.export({ type: 'sec1', format: 'pem' }).toString(),
    SUTLER_X402_NETWORK: 'base-sepolia',
    SUTLER_X402_RPC_URL: `${rpc}/sandbox/rpc/84532`,
    SUTLER_X402_PAY_TO: '0x00000000000000000000000000000000000c01d1',
    SUTLER_X402_SETTLER_KEY: key('settler'),
    SUTLER_X402_TREASURY_KEY: key('treasury'),
    SUTLER_MPP_NETWORK: 'tempo-moderato',
    SUTLER_MPP_RPC_URL: `${rpc}/sandbox/rpc/42431`,
    SUTLER_MPP_RECIPIENT: '0x00000000000000000000000000000000000c01d2',
    SUTLER_MPP_SECRET: 'kP2vQ8sX4mR7tY1wZ5aB9cD3eF6gH0jL',
    SUTLER_MPP_TREASURY_KEY: key('treasury'),
    SUTLER_GAME_CHAIN_ID: '84532',
    SUTLER_GAME_RPC_URL: `${rpc}/sandbox/rpc/84532`,
    SUTLER_SALE_CONTRACT: sale,
    SUTLER_SALE_IDS: '391,392',
    SUTLER_MINTER_KEY: key('minter'),
    SUTLER_CRAFT_CONTROLLER: craftController,
    SUTLER_CRAFTER_KEY: key('crafter'),
    // A sandbox is one node, and its chains make blocks on demand.
    SUTLER_SECOND_OPINION_FROM: 'never',
    SUTLER_X402_HEAD_AGE_SECONDS: '0',
    SUTLER_MPP_HEAD_AGE_SECONDS: '0',
    SUTLER_GAME_HEAD_AGE_SECONDS: '0',
  }
}

test('two replicas by configuration alone: what one sells, the other shows and gives back', async () => {
  const [first, second] = replicas
  const baseUrl = first!.env['SUTLER_BASE_URL']!
  const beneficiary = addressOf('demo')
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
  const there = ['--url', second!.url, '--reason', 'a rehearsal', '--by', 'mara']
  const { status } = await asked<{ status: string }>(['refund', await orderOf(bought[0]!), ...there], second!.env)
  assert.equal(status, 'refunded')
  const { tills } = await asked<{ tills: { difference: string }[] }>(['reconcile'], first!.env)
  assert.deepEqual(
    tills.map(({ difference }) => difference),
    ['0', '0'],
  )
  assert.equal((await fetch(`${second!.url}/sandbox`)).status, 404, 'nothing of the sandbox is here')
})

async function orderOf({ paid }: { paid: { transaction: string } }): Promise<string> {
  const { env, url } = replicas[1]!
  const found = await asked<{ order: { orderId: string } }>(['orders', 'show', paid.transaction, '--url', url], env)
  return found.order.orderId
}

test('doctor: keys, roles and balances of a production are in order, and its prices can be read', async () => {
  const { findings } = await asked<{ findings: { area: string; what: string; severity: string }[] }>(
    ['doctor'],
    replicas[0]!.env,
  )
  const bad = findings.filter(({ severity }) => severity === 'fail')
  assert.deepEqual(bad, [])
  const keys = findings.filter(({ area }) => area === 'keys').map(({ what }) => what)
  assert.ok(keys.includes('MINTER_ROLE') && keys.includes('OPERATOR_ROLE') && keys.includes('recipient'), keys.join())
})
