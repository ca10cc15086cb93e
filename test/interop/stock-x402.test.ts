import assert from 'node:assert/strict'
import type { AddressInfo } from 'node:net'
import { after, before, suite, test } from 'node:test'
import { serve } from '@hono/node-server'
import { x402Client as AxiosClient, wrapAxiosWithPayment } from '@x402/axios'
import { x402Facilitator } from '@x402/core/facilitator'
import { type FacilitatorClient, x402ResourceServer } from '@x402/core/server'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as PayerScheme } from '@x402/evm/exact/client'
import { ExactEvmScheme as FacilitatorScheme } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme as SellerScheme } from '@x402/evm/exact/server'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { paymentMiddleware } from '@x402/hono'
import axios from 'axios'
import { Hono } from 'hono'
import { type Address, createPublicClient, createWalletClient, type Hex, http, publicActions, toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'

// An unmodified x402 resource server, with an unmodified facilitator that settles on this chain, sells to unmodified clients.
// Balances are read from the chain, never from an answer.

const NETWORK = 'eip155:84532' as const
const PRICE = 250_000n
const DEPOSIT = 9_000_000n

suite('stock x402 on the native chain', () => {
  let chain: DevChain
  let rpc: RpcServer
  let shop: ReturnType<typeof serve>
  let shopUrl: string
  const payTo = privateKeyToAccount(generatePrivateKey()).address

  before(async () => {
    chain = await createDevChain({ rules: 'native' })
    rpc = await serveRpc(chain)
    const app = new Hono()
    const route = { accepts: { scheme: 'exact', price: '$0.25', network: NETWORK, payTo }, description: 'a lot' }
    const seller = new x402ResourceServer(await facilitator()).register(NETWORK, new SellerScheme())
    app.use(paymentMiddleware({ 'GET /lot': route }, seller))
    app.get('/lot', (c) => c.json({ lot: 1 }))
    await new Promise<void>((resolve) => {
      shop = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve())
    })
    shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}/lot`
  })
  after(async () => {
    await new Promise((resolve) => shop.close(resolve))
    await rpc.close()
    await chain.close()
  })

  async function facilitator(): Promise<FacilitatorClient> {
    const account = privateKeyToAccount(generatePrivateKey())
    await chain.request({ method: 'dev_setBalance', params: [account.address, toHex(10n ** 18n)] })
    const transport = http(rpc.url, { retryCount: 0 })
    const client = createWalletClient({ account, chain: baseSepolia, transport, pollingInterval: 20 }).extend(
      publicActions,
    )
    const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never)
    const inner = new x402Facilitator().register(NETWORK, new FacilitatorScheme(signer))
    return {
      verify: (payload, requirements) => inner.verify(payload, requirements),
      settle: (payload, requirements) => inner.settle(payload, requirements),
      getSupported: async () => inner.getSupported() as Awaited<ReturnType<FacilitatorClient['getSupported']>>,
    }
  }

  async function newPayer() {
    const account = privateKeyToAccount(generatePrivateKey())
    await chain.request({ method: 'dev_mintToken', params: [USDC_ADDRESS, account.address, toHex(DEPOSIT)] })
    return account
  }
  async function balanceOf(account: Address): Promise<bigint> {
    const reader = createPublicClient({ chain: baseSepolia, transport: http(rpc.url) })
    return reader.readContract({ address: USDC_ADDRESS, abi: testUsdc.abi, functionName: 'balanceOf', args: [account] })
  }
  /** The payer pays the price to the cent: gas is the facilitator's business. */
  async function assertPaidOnce(payer: Address, shopBefore: bigint): Promise<void> {
    assert.equal((await balanceOf(payTo)) - shopBefore, PRICE)
    assert.equal(await balanceOf(payer), DEPOSIT - PRICE)
  }

  test('@x402/fetch pays, and the receipt names a transaction of this chain', async () => {
    const payer = await newPayer()
    const shopBefore = await balanceOf(payTo)
    const pay = wrapFetchWithPayment(fetch, new x402Client().register(NETWORK, new PayerScheme(payer)))
    const response = await pay(shopUrl)
    assert.equal(response.status, 200)
    assert.deepEqual(await response.json(), { lot: 1 })
    await assertPaidOnce(payer.address, shopBefore)
    const { transaction } = decodePaymentResponseHeader(response.headers.get('payment-response')!)
    const receipt = (await chain.request({ method: 'eth_getTransactionReceipt', params: [transaction] })) as {
      status: Hex
    }
    assert.equal(receipt.status, '0x1')
  })

  test('@x402/axios pays', async () => {
    const payer = await newPayer()
    const shopBefore = await balanceOf(payTo)
    // The axios package brings a core of its own, so its client wants the types of that one.
    const client = new AxiosClient().register(NETWORK, new PayerScheme(payer) as never)
    const response = await wrapAxiosWithPayment(axios.create(), client).get(shopUrl)
    assert.equal(response.status, 200)
    assert.deepEqual(response.data, { lot: 1 })
    await assertPaidOnce(payer.address, shopBefore)
  })

  test('a payer without money is refused before anything settles', async () => {
    const payer = privateKeyToAccount(generatePrivateKey())
    const before = await chain.request({ method: 'eth_blockNumber' })
    const pay = wrapFetchWithPayment(fetch, new x402Client().register(NETWORK, new PayerScheme(payer)))
    assert.equal((await pay(shopUrl)).status, 402)
    assert.equal(await chain.request({ method: 'eth_blockNumber' }), before)
  })
})
