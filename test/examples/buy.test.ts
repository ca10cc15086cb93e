import assert from 'node:assert/strict'
import { exec } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { sandboxBanner } from '../../src/sandbox/banner.ts'
import { root } from '../cli/sutler.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

// The banner offers lines for copying, which run the examples; the rest of the examples is run by test/shop and test/webhooks.

/** Not that of the checkout: there the lines begin with npx, and test/package/pack.test.ts copies those. */
const folder = tmpdir()
let shop: TestShop
let lines: Readonly<Record<string, string>>
let told: {
  readonly demo: { readonly privateKey: string; readonly address: `0x${string}` }
  readonly chains: Readonly<Record<'x402' | 'mpp', { readonly rpcUrl: string }>> & {
    readonly x402: { readonly asset: `0x${string}` }
    readonly mpp: { readonly currency: `0x${string}` }
  }
}

before(async () => {
  shop = await startShop({ withSandboxRoutes: true })
  lines = Object.fromEntries(sandboxBanner(shop.world, folder).purchases)
  told = (await (await fetch(`${shop.url}/sandbox`)).json()) as typeof told
})
after(() => shop.stop())

/** In a shell, as somebody would who copied it. */
async function copied(line: string): Promise<string> {
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  const { stdout } = await promisify(exec)(line, { cwd: folder, env: { PATH, HOME, NODE_COMPILE_CACHE } })
  return stdout
}

async function spent(rail: 'x402' | 'mpp', work: () => Promise<string>): Promise<{ cents: bigint; said: string }> {
  const { rpcUrl } = told.chains[rail]
  const token = rail === 'x402' ? told.chains.x402.asset : told.chains.mpp.currency
  const chain = {
    request: async (call: object) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...call })
      const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      return ((await response.json()) as { result: unknown }).result
    },
  }
  const before = await erc20Balance(chain, token, told.demo.address)
  const said = await work()
  return { cents: (before - (await erc20Balance(chain, token, told.demo.address))) / 10_000n, said }
}

test('the line for x402 buys the cheapest lot with the stock client', async () => {
  verifies('D12.2')
  const { cents, said } = await spent('x402', () => copied(lines['x402']!))
  assert.match(said, /200 confirmed .*\n[\s\S]*paid by transaction 0x[0-9a-f]{64}/)
  assert.equal(cents, 25n)
})

test('the line for mppx buys five keys with the stock command', async () => {
  verifies('D12.2')
  const { cents, said } = await spent('mpp', () => copied(lines['mppx']!))
  assert.match(said, /"status": ?"confirmed"/)
  assert.equal(cents, 150n)
})

test('the line for MCP buys a lot through the stock MCP client', async () => {
  const { cents, said } = await spent('mpp', () => copied(lines['MCP']!))
  assert.match(said, /confirmed [\s\S]*paid by transaction 0x[0-9a-f]{64}/)
  assert.equal(cents, 25n)
})

test('the MPP example buys an item for the player of whoever pays', async () => {
  const { privateKey } = told.demo
  const line = `PRIVATE_KEY=${privateKey} RPC_URL=${told.chains.mpp.rpcUrl} ${process.execPath} ${join(root, 'examples/buy-with-mpp.ts')} ${shop.url}`
  const { cents, said } = await spent('mpp', () => copied(line))
  assert.match(said, /200 confirmed [\s\S]*paid by transaction 0x[0-9a-f]{64}/)
  assert.equal(cents, 80n)
})
