import assert from 'node:assert/strict'
import { suite, type TestContext, test } from 'node:test'
import { createPublicClient, http, toHex } from 'viem'
import { baseSepolia } from 'viem/chains'
import { serveRpc } from '../../src/devchain/server.ts'
import { startChain } from './support.ts'

async function serve(t: TestContext) {
  const chain = await startChain(t, { rules: 'native', faults: true })
  const server = await serveRpc(chain)
  t.after(() => server.close())
  const post = (body: unknown, init: RequestInit = {}) =>
    fetch(server.url, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body), ...init })
  return { chain, server, post }
}
const call = (id: unknown, method: string, ...params: unknown[]) => ({ jsonrpc: '2.0', id, method, params })

suite('JSON-RPC over HTTP', () => {
  test('a request is answered under its id, with result or error', async (t) => {
    const { post } = await serve(t)
    const response = await post(call(7, 'eth_chainId'))
    assert.equal(response.headers.get('content-type'), 'application/json')
    assert.deepEqual(await response.json(), { jsonrpc: '2.0', id: 7, result: '0x14a34' })
    assert.deepEqual(await (await post(call('x', 'eth_nope'))).json(), {
      jsonrpc: '2.0',
      id: 'x',
      error: { code: -32601, message: 'the method eth_nope does not exist/is not available' },
    })
    const absent = await (await post(call(1, 'eth_getTransactionReceipt', toHex(1, { size: 32 })))).json()
    assert.deepEqual(absent, { jsonrpc: '2.0', id: 1, result: null })
  })

  test('a batch is answered in its order, good and bad alike', async (t) => {
    const { post } = await serve(t)
    const batch = [call(1, 'eth_chainId'), call(2, 'eth_nope'), 'what', call(3, 'net_version')]
    const answers = (await (await post(batch)).json()) as { id: unknown; result?: unknown; error?: { code: number } }[]
    assert.deepEqual(
      answers.map(({ id, result, error }) => [id, result ?? error!.code]),
      [
        [1, '0x14a34'],
        [2, -32601],
        [null, -32600],
        [3, '84532'],
      ],
    )
  })

  test('what is no JSON-RPC is told so', async (t) => {
    const { post, server } = await serve(t)
    const code = async (body: string) => ((await (await post(body)).json()) as { error: { code: number } }).error.code
    assert.equal(await code('{'), -32700)
    assert.equal(await code('[]'), -32600)
    assert.equal(await code('7'), -32600)
    assert.equal(await code('{"id":1}'), -32600)
    assert.equal(await code('{"id":{},"method":"eth_chainId"}'), -32600)
    assert.equal((await fetch(server.url)).status, 405)
  })

  test('a lost answer is a broken connection', async (t) => {
    const { chain, post } = await serve(t)
    await chain.request({ method: 'dev_fault', params: [{ kind: 'lose', method: 'eth_chainId' }] })
    await assert.rejects(post(call(1, 'eth_chainId')), TypeError)
    assert.equal((await post(call(1, 'eth_chainId'))).status, 200)
  })

  test('several chains are served side by side, each at its id', async (t) => {
    const chains = [await startChain(t, { rules: 'native' }), await startChain(t, { rules: 'tempo' })]
    const server = await serveRpc(chains)
    t.after(() => server.close())
    const ask = async (path: string) => {
      const response = await fetch(server.url + path, { method: 'POST', body: JSON.stringify(call(1, 'net_version')) })
      return response.ok ? ((await response.json()) as { result: string }).result : response.status
    }
    assert.deepEqual(
      [await ask('/84532'), await ask('/42431'), await ask('/'), await ask('/1')],
      ['84532', '42431', 404, 404],
    )
  })

  test("viem's HTTP transport works, batched too", async (t) => {
    const { server } = await serve(t)
    const client = createPublicClient({ chain: baseSepolia, transport: http(server.url, { batch: true }) })
    assert.deepEqual(await Promise.all([client.getChainId(), client.getBlockNumber()]), [84532, 0n])
  })
})

suite('answerRpc', () => {})
