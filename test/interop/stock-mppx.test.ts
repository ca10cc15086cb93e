import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { serve } from '@hono/node-server'
import { Receipt } from 'mppx'
import { Mppx as Payer, tempo as tempoPayer } from 'mppx/client'
import { Mppx as Seller, tempo as tempoSeller } from 'mppx/server'
import { type Address, createClient, type Hex, http, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { Actions } from 'viem/tempo'
import { tempoModerato } from 'viem/tempo/chains'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { PATH_USD_ADDRESS } from '../../src/devchain/rules.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'

// The chain judged by clients we did not write: an unmodified mppx server takes payments of unmodified mppx clients on it.
// Balances are read from the chain, never from an answer.

const PRICE = 250_000n
const DEPOSIT = 100_000_000n

suite('stock mppx on the tempo chain', () => {
  let chain: DevChain
  let rpc: RpcServer
  let shop: ReturnType<typeof serve>
  let shopUrl: string
  const recipient = privateKeyToAccount(generatePrivateKey()).address
  const partner = privateKeyToAccount(generatePrivateKey()).address
  const sponsor = privateKeyToAccount(generatePrivateKey())
  const getClient = () => createClient({ chain: tempoModerato, transport: http(rpc.url, { retryCount: 0 }) })

  before(async () => {
    chain = await createDevChain({ rules: 'tempo' })
    rpc = await serveRpc(chain)
    await chain.request({ method: 'dev_mintToken', params: [PATH_USD_ADDRESS, sponsor.address, toHex(DEPOSIT)] })
    const sellers: Record<string, Handler> = {
      '/gem': sell({}, '0.25'),
      '/sponsored': sell({ feePayer: sponsor }, '0.25'),
      '/split': sell({ splits: [{ amount: '0.1', recipient: partner }] }, '0.25'),
      '/free': sell({}, '0'),
    }
    const handle: Handler = (request) => sellers[new URL(request.url).pathname]!(request)
    await new Promise<void>((resolve) => {
      shop = serve({ fetch: handle, port: 0, hostname: '127.0.0.1' }, () => resolve())
    })
    shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`
  })
  after(async () => {
    await new Promise((resolve) => shop.close(resolve))
    await rpc.close()
    await chain.close()
  })

  type Handler = (request: Request) => Promise<Response>
  type ChargeOptions = Parameters<typeof tempoSeller.charge>[0]

  /** A few lines of stock server. */
  function sell(options: Partial<ChargeOptions>, amount: string): Handler {
    const charge = tempoSeller.charge({ testnet: true, recipient, getClient, ...options } as ChargeOptions)
    const seller = Seller.create({ methods: [charge], realm: 'shop.test', secretKey: 'x'.repeat(40) })
    return async (request) => {
      const result = await seller.charge({ amount, chainId: 42431 })(request)
      return result.status === 402 ? result.challenge : result.withReceipt(Response.json({ sold: 'a gem' }))
    }
  }

  /** Stock client. */
  const buy = (key: Hex, path: string, options: { mode?: 'pull' | 'push' } = {}) => {
    const method = tempoPayer({ account: privateKeyToAccount(key), getClient, ...options })
    return Payer.create({ polyfill: false, methods: [method], maxPaymentRetries: 1 }).fetch(shopUrl + path)
  }

  async function newPayer(deposit = DEPOSIT): Promise<{ key: Hex; address: Address }> {
    const key = generatePrivateKey()
    const { address } = privateKeyToAccount(key)
    await chain.request({ method: 'dev_mintToken', params: [PATH_USD_ADDRESS, address, toHex(deposit)] })
    return { key, address }
  }
  const balanceOf = async (account: Address) =>
    (await Actions.token.getBalance(getClient(), { account, token: PATH_USD_ADDRESS })).amount

  /** The shop got the price; the payer lost the price, and a fee. */
  async function assertPaidOnce(payer: Address, shopBefore: bigint): Promise<void> {
    assert.equal((await balanceOf(recipient)) - shopBefore, PRICE)
    const spent = DEPOSIT - (await balanceOf(payer))
    assert.ok(spent > PRICE && spent < PRICE + 20_000n, `spent ${spent}`)
  }

  for (const mode of ['pull', 'push'] as const) {
    test(`the mppx client pays in ${mode} mode`, async () => {
      const payer = await newPayer()
      const shopBefore = await balanceOf(recipient)
      const response = await buy(payer.key, '/gem', { mode })
      assert.equal(response.status, 200)
      assert.deepEqual(await response.json(), { sold: 'a gem' })
      await assertPaidOnce(payer.address, shopBefore)
      const hash = Receipt.fromResponse(response).reference
      const receipt = (await chain.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as {
        from: Address
      }
      assert.equal(receipt.from, payer.address.toLowerCase())
    })
  }

  test('a payer who owns exactly the price and nothing for gas is refused, and keeps it', async (t) => {
    t.mock.method(console, 'error', () => {}) // The stock server reports the refusal there.
    const payer = await newPayer(PRICE)
    const answer = await buy(payer.key, '/gem').then(
      ({ status }) => status,
      () => 'the client gave up',
    )
    assert.notEqual(answer, 200)
    assert.equal(await balanceOf(payer.address), PRICE)
  })

  test('with a sponsor for the fee the same payer can buy', async () => {
    const payer = await newPayer(PRICE)
    const [shopBefore, sponsorBefore] = [await balanceOf(recipient), await balanceOf(sponsor.address)]
    assert.equal((await buy(payer.key, '/sponsored')).status, 200)
    assert.equal((await balanceOf(recipient)) - shopBefore, PRICE)
    assert.equal(await balanceOf(payer.address), 0n)
    assert.ok((await balanceOf(sponsor.address)) < sponsorBefore)
  })

  for (const mode of ['pull', 'push'] as const) {
    test(`a split price reaches both payees in one transaction, in ${mode} mode`, async () => {
      const payer = await newPayer()
      const [shopBefore, partnerBefore] = [await balanceOf(recipient), await balanceOf(partner)]
      assert.equal((await buy(payer.key, '/split', { mode })).status, 200)
      assert.equal((await balanceOf(partner)) - partnerBefore, 100_000n)
      assert.equal((await balanceOf(recipient)) - shopBefore, PRICE - 100_000n)
    })
  }

  test('a price of nothing is paid by a proof, and no block is made', async () => {
    const height = await chain.request({ method: 'eth_blockNumber' })
    assert.equal((await buy(generatePrivateKey(), '/free')).status, 200)
    assert.equal(await chain.request({ method: 'eth_blockNumber' }), height)
  })

  test('ten purchases of one wallet at once are ten payments', async () => {
    const payer = await newPayer()
    const shopBefore = await balanceOf(recipient)
    const statuses = await Promise.all(Array.from({ length: 10 }, async () => (await buy(payer.key, '/gem')).status))
    assert.deepEqual(statuses, Array(10).fill(200))
    assert.equal((await balanceOf(recipient)) - shopBefore, 10n * PRICE)
  })

  test('the mppx command pays', async () => {
    const payer = await newPayer()
    const shopBefore = await balanceOf(recipient)
    const command = fileURLToPath(new URL('../../node_modules/.bin/mppx', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [command, `${shopUrl}/gem`], {
      env: { ...process.env, MPPX_RPC_URL: rpc.url, MPPX_PRIVATE_KEY: payer.key, NO_COLOR: '1' },
    })
    assert.match(stdout, /a gem/)
    await assertPaidOnce(payer.address, shopBefore)
  })
})
