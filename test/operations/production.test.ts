import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { keccak256, toBytes } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { sandboxSaleLots } from '../../src/artifacts/SandboxSaleLots.ts'
import type { Jwks } from '../../src/base/jws.ts'
import { silentLog } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'
import { invocation } from '../../src/chain/act.ts'
import { verifyReceipt } from '../../src/checkout/receipt.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { DevChains } from '../../src/devchain/chains.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { giveGas, giveToken, startWorld, type World } from '../../src/sandbox/world.ts'
import { type Service, startService } from '../../src/service/service.ts'
import { sendFrom } from '../checkout/x402-wallet.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { openStore, type TestStore } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { startChains } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { type Receiver, startReceiver } from '../webhooks/receiver.ts'
import { asOperator, type Bought, LOT, LOT_PRICE } from './desk.ts'
import { transfer } from './strangers.ts'

const DOLLAR = 1_000_000n
const PUBLIC_URL = 'https://shop.example.org'

// Configuration alone: the service is given nothing but the environment, and reaches its chains and its store by their addresses. Only
// the world outside is the test's: contracts on development chains that answer under the ids of the public test networks.
let service: Service
let config: Config
let world: World
let chains: DevChains
let nodes: readonly RpcServer[]
let store: TestStore
let receiver: Receiver
let buyer: PrivateKeyAccount

before(async () => {
  chains = await startChains()
  world = await startContracts()
  // Two addresses of each chain: large payments need two nodes that show them.
  nodes = await Promise.all([1, 2].map(() => serveRpc([chains.native, chains.tempo])))
  store = await openStore('postgres')
  receiver = await startReceiver()
  const loaded = loadConfig(await environment())
  assert.ok(loaded.mode === 'production')
  config = loaded.config
  service = await startService(config, { log: silentLog })
  buyer = await fundedWallet({ chains, config })
})
after(async () => {
  await service.stop()
  await receiver.stop()
  await Promise.all(nodes.map((node) => node.close()))
  await world.close()
  await store.drop()
})

async function startContracts(): Promise<World> {
  const sandbox = loadConfig({})
  assert.ok(sandbox.mode === 'sandbox')
  return startWorld(sandbox, chains)
}

/** Keys that nobody has used before, each with its role and what it needs for it. */
async function environment(): Promise<Record<string, string>> {
  const [settler, treasury, minter] = [generatePrivateKey(), generatePrivateKey(), generatePrivateKey()]
  const addressOf = (key: `0x${string}`) => privateKeyToAccount(key).address
  const { sale } = world.contracts
  const role = keccak256(toBytes('MINTER_ROLE'))
  await world.deployer.act(invocation(sale, sandboxSaleLots.abi, 'grantRole', [role, addressOf(minter)]))
  for (const key of [settler, treasury, minter]) await giveGas(chains.native, addressOf(key), 10n ** 18n)
  const { x402, mpp } = world.config
  await giveToken(chains.native, x402!.asset, addressOf(treasury), 100n * DOLLAR)
  await giveToken(chains.tempo, mpp!.currency.address, addressOf(treasury), 100n * DOLLAR)
  const till = addressOf(generatePrivateKey())
  const receiptKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const addressesOf = (chainId: number) => nodes.map(({ url }) => `${url}/${chainId}`).join()
  return {
    SUTLER_MODE: 'production',
    HOST: '127.0.0.1',
    PORT: String(await freePort()),
    DATABASE_URL: store.place.url!,
    SUTLER_BASE_URL: PUBLIC_URL,
    SUTLER_OPERATOR_TOKEN: generatePrivateKey().slice(2),
    SUTLER_RECEIPT_KEY: receiptKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    SUTLER_X402_NETWORK: 'base-sepolia',
    SUTLER_X402_RPC_URL: addressesOf(84532),
    SUTLER_X402_PAY_TO: till,
    SUTLER_X402_SETTLER_KEY: settler,
    SUTLER_X402_TREASURY_KEY: treasury,
    SUTLER_MPP_NETWORK: 'tempo-moderato',
    SUTLER_MPP_RPC_URL: addressesOf(42431),
    SUTLER_MPP_RECIPIENT: till,
    SUTLER_MPP_SECRET: generatePrivateKey().slice(2),
    SUTLER_MPP_TREASURY_KEY: treasury,
    SUTLER_GAME_CHAIN_ID: '84532',
    SUTLER_GAME_RPC_URL: addressesOf(84532),
    SUTLER_SALE_CONTRACT: sale,
    SUTLER_SALE_IDS: String(LOT.saleId),
    SUTLER_MINTER_KEY: minter,
    SUTLER_WEBHOOK_LOOPBACK: 'true',
    SUTLER_RECONCILE_SECONDS: '1',
    SUTLER_ORPHAN_AFTER_SECONDS: '0',
    SUTLER_ORPHAN_REFUND_SECONDS: '0',
  }
}

/** The shop's own token lets the first admin in, once; whatever else is done here, they do. */
const operator = async (path: string, init?: RequestInit) => {
  admin ??= asOperator({ url: service.url, config }, '/operator/operators', post(FIRST))
    .then((response) => response.json() as Promise<{ token: { token: string } }>)
    .then(({ token }) => ({ ...config, operatorToken: new Secret(token.token) }))
  return asOperator({ url: service.url, config: await admin }, path, init)
}
let admin: Promise<Config> | undefined
const FIRST = { name: 'Mara', role: 'admin', token: true }

describe('a production that was given nothing but its configuration', () => {
  test('is ready, and has nothing of the sandbox', async () => {
    verifies('D12.4', 'D12.6')
    const response = await fetch(`${service.url}/health/ready`)
    const { status, checks } = (await response.json()) as { status: string; checks: { name: string; status: string }[] }
    assert.deepEqual([response.status, status], [200, 'ready'], JSON.stringify(checks))
    assert.deepEqual(
      checks.map(({ name }) => name),
      [
        ...['store', 'chain 84532', 'chain 42431', 'rail x402', 'rail mpp', 'ledger'],
        ...['surface sale', 'surface shop', 'float', 'worker', 'wallets'],
      ],
    )
    for (const path of ['/sandbox', '/sandbox/rpc/84532', '/sandbox/faucet'])
      assert.equal((await fetch(service.url + path)).status, 404, path)
  })

  test('sells on both rails, tells its receivers, signs its receipts, and refunds', async () => {
    assert.equal((await operator('/operator/webhooks', post({ url: receiver.url }))).status, 201)
    const jwks = (await (await fetch(`${service.url}/.well-known/jwks.json`)).json()) as Jwks
    for (const [rail, pay] of [
      [x402UnderTest, x402Payer(buyer)],
      [mppPullUnderTest, mppPayer({ chains }, buyer, 'pull')],
    ] as const) {
      const lot = post({ ...LOT, beneficiary: buyer.address })
      const response = await pay(`${service.url}/agentic/${rail.rail}/buy`, lot)
      assert.equal(response.status, 200)
      const sold = (await response.json()) as Bought
      assert.equal(verifyReceipt(sold.receipt, jwks)['iss'], PUBLIC_URL)
      assert.ok(sold.statusUrl.startsWith(`${PUBLIC_URL}/`))
      const before = await rail.balance({ chains, config }, buyer.address)
      const refunded = await operator(`/operator/orders/${sold.orderId}/refund`, post({ reason: 'a test' }))
      assert.equal(refunded.status, 200)
      assert.equal((await rail.balance({ chains, config }, buyer.address)) - before, LOT_PRICE, 'read from the chain')
      const told = () => receiver.taken.filter(({ event }) => event.data['orderId'] === sold.orderId)
      await until(() => told().length === 5)
      assert.deepEqual(
        told().map(({ event }) => event.type),
        ['order.created', 'payment.settled', 'order.confirmed', 'refund.created', 'refund.completed'],
      )
    }
  })

  test('M-26: keeps its books by itself: money without a purchase goes back, and nothing is left to explain', async () => {
    const before = await x402UnderTest.balance({ chains, config }, buyer.address)
    const { asset, payTo } = config.x402!
    const transaction = await sendFrom(chains.native, buyer, asset, transfer(payTo, DOLLAR))
    const told = () => receiver.taken.filter(({ event }) => event.data['paymentTx'] === transaction.toLowerCase())
    // The books are kept as deep as the largest payment has to lie.
    for (let block = 0; block < 64; block++) await chains.native.request({ method: 'evm_mine', params: [] })
    await until(() => told().length === 3)
    assert.deepEqual(
      told().map(({ event }) => event.type),
      ['payment.orphaned', 'refund.created', 'refund.completed'],
    )
    assert.equal(await x402UnderTest.balance({ chains, config }, buyer.address), before)
    const { tills } = (await (await operator('/operator/reconcile', { method: 'POST' })).json()) as {
      tills: { difference: string; items: unknown[] }[]
    }
    assert.deepEqual(
      tills.map(({ difference, items }) => [difference, items]),
      [
        ['0', []],
        ['0', []],
      ],
    )
  })
})
