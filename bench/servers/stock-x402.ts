// The stock x402 seller: @x402/hono with the stock facilitator in the same process, settling on the same chain.
import { serve } from '@hono/node-server'
import { x402Facilitator } from '@x402/core/facilitator'
import { type FacilitatorClient, x402ResourceServer } from '@x402/core/server'
import { toFacilitatorEvmSigner } from '@x402/evm'
import { ExactEvmScheme as FacilitatorScheme } from '@x402/evm/exact/facilitator'
import { ExactEvmScheme as SellerScheme } from '@x402/evm/exact/server'
import { paymentMiddleware } from '@x402/hono'
import { Hono } from 'hono'
import { createWalletClient, type Hex, http, nonceManager, publicActions } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { serveMeasured } from '../measured.ts'

export type StockX402Order = {
  readonly rpcUrl: string
  readonly key: Hex
  readonly payTo: Hex
  readonly pollingMs?: number
}

const NETWORK = 'eip155:84532' as const

await serveMeasured<StockX402Order>(async ({ rpcUrl, key, payTo, pollingMs = 5 }) => {
  const app = new Hono()
  const route = {
    accepts: { scheme: 'exact', price: '$0.001', network: NETWORK, payTo },
    description: 'A health probe with a real settlement',
  }
  app.use(
    paymentMiddleware(
      { 'GET /health': route },
      new x402ResourceServer(facilitator(rpcUrl, key, pollingMs)).register(NETWORK, new SellerScheme()),
    ),
  )
  app.get('/health', (c) => c.json({ ok: true }))
  return new Promise<string>((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(`http://127.0.0.1:${port}`))
  })
})

/** Its nonce manager is on: without it, payments at the same time fail. Receipts are polled as fast as ours. */
function facilitator(rpcUrl: string, key: Hex, pollingMs: number): FacilitatorClient {
  const account = privateKeyToAccount(key, { nonceManager })
  const client = createWalletClient({
    account,
    chain: baseSepolia,
    transport: http(rpcUrl, { retryCount: 0 }),
    pollingInterval: pollingMs,
  }).extend(publicActions)
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never)
  const inner = new x402Facilitator().register(NETWORK, new FacilitatorScheme(signer))
  return {
    verify: (payload, requirements) => inner.verify(payload, requirements),
    settle: (payload, requirements) => inner.settle(payload, requirements),
    getSupported: async () => inner.getSupported() as Awaited<ReturnType<FacilitatorClient['getSupported']>>,
  }
}
