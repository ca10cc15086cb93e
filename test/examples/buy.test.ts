import assert from 'node:assert/strict'
import { exec } from 'node:child_process'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { root, type Sandbox, startSandbox } from '../cli/sutler.ts'
import { erc20Balance } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

// The banner offers lines for copying, which run the examples; the rest of the examples is run by test/shop and test/webhooks.

let shop: Sandbox
let told: {
  readonly demo: { readonly privateKey: string; readonly address: `0x${string}` }
  readonly chains: Readonly<Record<'x402' | 'mpp', { readonly rpcUrl: string }>> & {
    readonly x402: { readonly asset: `0x${string}` }
    readonly mpp: { readonly currency: `0x${string}` }
  }
}

before(async () => {
  shop = await startSandbox()
  told = (await (await fetch(`${shop.url}/sandbox`)).json()) as typeof told
})
after(async () => {
  await shop.stop()
  shop.remove()
})

/** In a shell, in another folder than the shop runs in, as somebody would who copied it. */
async function copied(line: string): Promise<string> {
  const { PATH = '', HOME = '' } = process.env
  const fromRoot = line.replaceAll(/(?<= )\S*(?=node_modules\/|examples\/)/g, `${root}/`)
  const { stdout } = await promisify(exec)(fromRoot, { cwd: root, env: { PATH, HOME } })
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
  const { cents, said } = await spent('x402', () => copied(shop.lines['x402']!))
  assert.match(said, /200 confirmed .*\n[\s\S]*paid by transaction 0x[0-9a-f]{64}/)
  assert.equal(cents, 25n)
})

test('the line for mppx buys five keys with the stock command', async () => {
  verifies('D12.2')
  const { cents, said } = await spent('mpp', () => copied(shop.lines['mppx']!))
  assert.match(said, /"status": ?"confirmed"/)
  assert.equal(cents, 150n)
})

test('the line for MCP buys a lot through the stock MCP client', async () => {
  const { cents, said } = await spent('mpp', () => copied(shop.lines['MCP']!))
  assert.match(said, /confirmed [\s\S]*paid by transaction 0x[0-9a-f]{64}/)
  assert.equal(cents, 25n)
})

test('the MPP example buys an item for the player of whoever pays', async () => {
  const { privateKey } = told.demo
  const line = `PRIVATE_KEY=${privateKey} RPC_URL=${told.chains.mpp.rpcUrl} ${process.execPath} examples/buy-with-mpp.ts ${shop.url}`
  const { cents, said } = await spent('mpp', () => copied(line))
  assert.match(said, /200 confirmed [\s\S]*paid by transaction 0x[0-9a-f]{64}/)
  assert.equal(cents, 80n)
})
