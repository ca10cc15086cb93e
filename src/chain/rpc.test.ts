import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { systemClock } from '../base/clock.ts'
import { isProblem } from '../base/problem.ts'
import { AnswerTooLarge, ChainSilent, createRpc, RpcError } from './rpc.ts'
import { httpTransport, type RpcRequest, type RpcTransport, TooLarge } from './transport.ts'

const answers = (result: unknown, calls: string[] = []): RpcTransport => {
  return async ({ method }: RpcRequest) => {
    calls.push(method)
    return method === 'eth_chainId' ? { result: '0x7' } : { result }
  }
}
const silent: RpcTransport = async () => {
  throw new Error('nobody there')
}
const says =
  (error: object): RpcTransport =>
  async ({ method }) =>
    method === 'eth_chainId' ? { result: '0x7' } : { error }

const rpcOf = (...transports: readonly RpcTransport[]) => createRpc({ chainId: 7, transports, clock: systemClock })

describe('several endpoints', () => {
  test('M-18: the next one is asked when one is dead', async () => {
    assert.equal(await rpcOf(silent, answers('0x1')).request('eth_blockNumber'), '0x1')
  })

  test('M-27: one that did not answer is asked last for a minute, and no longer because the clock is put back', async () => {
    let now = 1_000_000_000
    const calls: string[] = []
    let isAway = true
    const first: RpcTransport = async (request) => (isAway ? silent(request) : answers('0x1', calls)(request))
    const clock = { now: () => now, sleep: async () => {} }
    const rpc = createRpc({ chainId: 7, transports: [first, answers('0x2')], clock })
    assert.equal(await rpc.request('eth_blockNumber'), '0x2')
    isAway = false
    now -= 600_000
    assert.equal(await rpc.request('eth_blockNumber'), '0x2')
    now += 60_000
    assert.equal(await rpc.request('eth_blockNumber'), '0x1')
  })

  test('M-18: nobody answering is an outage, not a verdict', async () => {
    await assert.rejects(rpcOf(silent, silent).request('eth_blockNumber'), (error) =>
      isProblem(error, 'chain_unavailable'),
    )
  })

  test('what the chain refuses is not asked of another', async () => {
    const calls: string[] = []
    const rpc = rpcOf(says({ code: 3, message: 'execution reverted', data: '0x' }), answers('0x1', calls))
    await assert.rejects(rpc.request('eth_call'), RpcError)
    assert.deepEqual(calls, [])
  })

  for (const error of [
    { code: -32005, message: 'daily request count exceeded' },
    { code: -32002, message: 'resource unavailable' },
    { code: -32603, message: 'Internal error' },
    { code: 429, message: 'slow down' },
    { code: -32000, message: 'request timed out' },
    { code: -32000, message: 'Too Many Requests' },
  ]) {
    test(`M-18: "${error.message}" is a gateway's word, and the next endpoint is asked`, async () => {
      assert.equal(await rpcOf(says(error), answers('0x1')).request('eth_sendRawTransaction'), '0x1')
      await assert.rejects(rpcOf(says(error)).request('eth_sendRawTransaction'), (thrown) =>
        isProblem(thrown, 'chain_unavailable'),
      )
    })
  }

  test('a revert that a node calls an internal error is still a revert', async () => {
    for (const error of [
      { code: -32603, message: 'Internal error', data: '0x08c379a0' },
      { code: -32603, message: 'VM Exception: revert' },
    ])
      await assert.rejects(rpcOf(says(error)).request('eth_call'), RpcError)
  })

  const tooLarge: RpcTransport = async ({ method }) => {
    if (method === 'eth_chainId') return { result: '0x7' }
    throw new TooLarge()
  }
  const tooMany = says({ code: -32005, message: 'query returned more than 10000 results' })

  for (const [how, node] of [
    ['we read', tooLarge],
    ['the node shows', tooMany],
  ] as const)
    test(`E38: an answer of more than ${how} is asked of the next one, and nobody is muted for it`, async () => {
      const rpc = rpcOf(node, answers('0x1'))
      assert.equal(await rpc.request('eth_getLogs'), '0x1')
      assert.ok(rpc.standing().every(({ isUp }) => isUp))
      await assert.rejects(rpcOf(node, silent).request('eth_getLogs'), AnswerTooLarge)
    })

  test('words about the size of a search say nothing about a transaction', async () => {
    const rpc = rpcOf(tooMany)
    await assert.rejects(rpc.request('eth_sendRawTransaction'), ChainSilent)
    assert.equal(rpc.standing().filter(({ isUp }) => !isUp).length, 1)
  })

  test('M-18: an endpoint of another chain is never listened to', async () => {
    const other: RpcTransport = async ({ method }) => ({ result: method === 'eth_chainId' ? '0x8' : '0xbad' })
    assert.equal(await rpcOf(other, answers('0x1')).request('eth_blockNumber'), '0x1')
    await assert.rejects(rpcOf(other).request('eth_blockNumber'), (error) => isProblem(error, 'chain_unavailable'))
  })

  test('the chain id is asked once, and again after nobody answered', async () => {
    const calls: string[] = []
    const real = answers('0x1', calls)
    let isDown = true
    const rpc = rpcOf((request) => (isDown ? silent(request) : real(request)))
    await assert.rejects(rpc.request('eth_blockNumber'))
    isDown = false
    await rpc.request('eth_blockNumber')
    await rpc.request('eth_blockNumber')
    assert.deepEqual(calls, ['eth_chainId', 'eth_blockNumber', 'eth_blockNumber'])
  })

  test('an answer that is not JSON-RPC is an outage', async () => {
    for (const answer of [null, 'text', 7, {}, { error: 'no' }, { error: null }]) {
      const odd: RpcTransport = async ({ method }) => (method === 'eth_chainId' ? { result: '0x7' } : answer)
      await assert.rejects(rpcOf(odd).request('eth_blockNumber'), (error) => isProblem(error, 'chain_unavailable'))
    }
  })
})

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('over HTTP', () => {
  const request: RpcRequest = { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }

  test('a JSON answer is handed over, and headers are sent along', async (t) => {
    const url = await serve(t, (incoming, response) => {
      response.end(JSON.stringify({ result: incoming.headers['x-key'] }))
    })
    assert.deepEqual(await httpTransport(url, 1_000, { 'x-key': 'k' })(request), { result: 'k' })
  })

  test('a server that drips its answer byte by byte is not waited for longer than the limit', async (t) => {
    const url = await serve(t, (_incoming, response) => {
      response.write('{')
      const drip = setInterval(() => response.write(' '), 20)
      response.on('close', () => clearInterval(drip))
    })
    await assert.rejects(httpTransport(url, 150)(request), /no answer within 150 ms/)
  })

  test('a server that never answers is given up', async (t) => {
    const url = await serve(t, () => {})
    await assert.rejects(httpTransport(url, 50)(request), /no answer within 50 ms/)
  })

  for (const status of [429, 500, 502, 503]) {
    test(`status ${status} is silence even with JSON in it`, async (t) => {
      const url = await serve(t, (_incoming, response) => {
        response.statusCode = status
        response.end(JSON.stringify({ error: { code: -32000, message: 'nonce too low' } }))
      })
      await assert.rejects(httpTransport(url, 1_000)(request), new RegExp(`status ${status}`))
    })
  }

  test('HTML, a cut answer and an endless one are silence', async (t) => {
    const html = await serve(t, (_incoming, response) => void response.end('<html>'))
    await assert.rejects(httpTransport(html, 1_000)(request), /not JSON/)
    const cut = await serve(t, (_incoming, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write('{"result":', () => response.destroy())
    })
    await assert.rejects(httpTransport(cut, 1_000)(request))
    const endless = await serve(t, (_incoming, response) => {
      const more = () => {
        while (!response.destroyed && response.write(' '.repeat(64 * 1024)));
        if (!response.destroyed) response.once('drain', more)
      }
      more()
    })
    await assert.rejects(httpTransport(endless, 10_000)(request), /too large/)
  })
})

describe('a kept connection that the other side has closed', () => {
  /** Answers once per connection, and breaks it at the next question. */
  async function forgetful(t: TestContext): Promise<{ url: string; asked: () => number }> {
    const known = new WeakSet<object>()
    let asked = 0
    const url = await serve(t, (request, response) => {
      asked++
      if (known.has(request.socket)) return void request.socket.destroy()
      known.add(request.socket)
      response.end('{"result":"0x1"}')
    })
    return { url, asked: () => asked }
  }
  const request = (method: string): RpcRequest => ({ jsonrpc: '2.0', id: 1, method, params: [] })

  test('a question is asked again on another connection', async (t) => {
    const { url, asked } = await forgetful(t)
    const transport = httpTransport(url, 1_000)
    await transport(request('eth_blockNumber'))
    assert.deepEqual(await transport(request('eth_blockNumber')), { result: '0x1' })
    assert.equal(asked(), 3)
  })

  test('a transaction is not sent again', async (t) => {
    const { url, asked } = await forgetful(t)
    const transport = httpTransport(url, 1_000)
    await transport(request('eth_blockNumber'))
    await assert.rejects(transport(request('eth_sendRawTransaction')))
    assert.equal(asked(), 2)
  })
})
