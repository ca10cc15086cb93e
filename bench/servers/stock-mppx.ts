// The stock MPP seller: mppx on Hono.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { Mppx, tempo } from 'mppx/server'
import { createClient, type Hex, http } from 'viem'
import { tempoModerato } from 'viem/tempo/chains'
import { serveMeasured } from '../measured.ts'

export type StockMppxOrder = { readonly rpcUrl: string; readonly recipient: Hex }

await serveMeasured<StockMppxOrder>(async ({ rpcUrl, recipient }) => {
  const client = createClient({ chain: tempoModerato, transport: http(rpcUrl) })
  const mppx = Mppx.create({
    methods: [tempo.charge({ testnet: true, recipient, getClient: () => client })],
    realm: 'bench.test',
    secretKey: 'a secret of the bench, long enough to be one',
  })
  const app = new Hono()
  app.post('/probe', async (c) => {
    const result = await mppx.charge({ amount: '0.001', chainId: 42431, description: 'A probe' })(c.req.raw)
    return result.status === 402 ? result.challenge : result.withReceipt(c.json({ ok: true }))
  })
  return new Promise<string>((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(`http://127.0.0.1:${port}`))
  })
})
