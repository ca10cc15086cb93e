import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createRpc } from '../../../src/chain/rpc.ts'
import type { RpcRequest, RpcTransport } from '../../../src/chain/transport.ts'
import { movableClock } from '../../checkout/counter.ts'
import { buy } from '../../operations/desk.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { mppPullUnderTest, x402UnderTest } from '../../support/credentials.ts'
import { startShop } from '../../support/shop.ts'

// A node that stands still answers everything, from the past. The second one is not asked, because the first one is not silent.

type Health = {
  readonly status: string
  readonly checks: readonly { readonly name: string; readonly detail: string }[]
}

const BLOCKS = 12
const BLOCK_MS = 1_000
/** What a node that is not believed may still be asked. */
const HARMLESS: readonly string[] = ['eth_getBlockByNumber', 'eth_chainId']

/** A node that can be frozen: it goes on answering as of the block at which that happened, and forgets whatever it is sent. */
function freezable(transport: RpcTransport) {
  let frozenAt: string | null = null
  const asked: string[] = []
  const inThePast = (params: readonly unknown[]) => params.map((param) => (param === 'latest' ? frozenAt : param))
  const ask: RpcTransport = async (request: RpcRequest) => {
    asked.push(request.method)
    if (frozenAt === null) return transport(request)
    if (request.method === 'eth_blockNumber') return { result: frozenAt }
    if (request.method === 'eth_sendRawTransaction') return { result: `0x${'0'.repeat(64)}` }
    if (request.method === 'eth_getTransactionReceipt') {
      const { result } = (await transport(request)) as { result: { blockNumber: string } | null }
      return { result: result && Number(result.blockNumber) <= Number(frozenAt) ? result : null }
    }
    return transport({ ...request, params: inThePast(request.params) })
  }
  return {
    ask,
    asked,
    async freeze() {
      const request = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] } as const
      frozenAt = ((await transport(request)) as { result: string }).result
      asked.length = 0
    },
    thaw() {
      frozenAt = null
    },
  }
}

/** A shop with two ways to each chain, the first of which can be frozen. Each test has its own: the clients' clocks cannot be moved along. */
async function shopWithFreezer(t: TestContext) {
  const clock = movableClock()
  const nodes: ReturnType<typeof freezable>[] = []
  const shop = await startShop({
    clock,
    wrapTransport(_chainId, transport) {
      const node = freezable(transport)
      nodes.push(node)
      return [node.ask, transport]
    },
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 5_000 } }),
  })
  t.after(() => shop.stop())
  async function freeze(): Promise<void> {
    for (const node of nodes) await node.freeze()
    for (let block = 0; block < BLOCKS; block++) {
      clock.move(BLOCK_MS)
      for (const chain of [shop.chains.native, shop.chains.tempo]) await chain.request({ method: 'evm_mine' })
    }
  }
  return { shop, clock, nodes, freeze, buyer: await fundedWallet(shop) }
}

describe('M-18: the first of two nodes stands still', () => {
  for (const rail of [x402UnderTest, mppPullUnderTest])
    test(`payments by ${rail.name} are taken and delivered by the second one, and the first is not asked`, async (t) => {
      const { shop, nodes, freeze, buyer } = await shopWithFreezer(t)
      await freeze()
      assert.equal((await buy(shop, rail, buyer)).response.status, 200)
      // Once its head was seen to lag, it is asked for that and nothing else.
      for (const { asked } of nodes) asked.length = 0
      assert.equal((await buy(shop, rail, buyer)).response.status, 200)
      const others = nodes.flatMap(({ asked }) => asked.filter((method) => !HARMLESS.includes(method)))
      assert.deepEqual(others, [])
      const ready = await fetch(`${shop.url}/health/ready`)
      const { status, checks } = (await ready.json()) as Health
      assert.deepEqual([ready.status, status], [200, 'degraded'])
      assert.match(
        checks.find(({ name }) => name === 'chain 84532')!.detail,
        /1 of its RPC addresses are silent or lag/,
      )
    })

  test('when it has caught up it is asked again', async (t) => {
    const { shop, clock, nodes, freeze, buyer } = await shopWithFreezer(t)
    await freeze()
    await buy(shop, x402UnderTest, buyer)
    for (const node of nodes) node.thaw()
    clock.move(3_000)
    await buy(shop, x402UnderTest, buyer)
    for (const { asked } of nodes) asked.length = 0
    await buy(shop, x402UnderTest, buyer)
    assert.ok(nodes.some(({ asked }) => asked.includes('eth_sendRawTransaction')))
  })

  test('one that does not answer at all keeps nobody waiting for long, and is asked again when it speaks', async () => {
    const clock = movableClock()
    let isMute = true
    const answer = (word: string): RpcTransport => {
      const block = { number: '0x10', timestamp: '0x10' }
      const answers: Record<string, unknown> = { eth_chainId: '0x7', eth_getBlockByNumber: block }
      return async ({ method }) => ({ result: answers[method] ?? word })
    }
    const first = answer('first')
    const hanging: RpcTransport = (request) => (isMute ? new Promise(() => {}) : first(request))
    const rpc = createRpc({ chainId: 7, clock, transports: [hanging, answer('second')] })
    await rpc.newest()
    assert.equal(rpc.standing().filter(({ isUp }) => !isUp).length, 1)
    assert.equal(await rpc.request('eth_call'), 'second')
    isMute = false
    const again = createRpc({ chainId: 7, clock, transports: [hanging, answer('second')] })
    await again.newest()
    assert.ok(again.standing().every(({ isUp }) => isUp))
    assert.equal(await again.request('eth_call'), 'first')
  })

  test('a made-up height alone shuts nobody out', async () => {
    const clock = movableClock()
    const now = () => `0x${Math.floor(clock.now() / 1000).toString(16)}`
    const node = (number: string, result: string): RpcTransport => {
      const answers: Record<string, unknown> = {
        eth_chainId: '0x7',
        eth_getBlockByNumber: { number, timestamp: now() },
      }
      return async ({ method }) => ({ result: answers[method] ?? result })
    }
    const transports = [node('0x10', 'honest'), node('0xffffff', 'liar')]
    const rpc = createRpc({ chainId: 7, clock, transports })
    await rpc.newest()
    assert.equal(await rpc.request('eth_call'), 'honest')
  })
})
