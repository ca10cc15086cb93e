import assert from 'node:assert/strict'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, describe, test } from 'node:test'
import type { Clock } from '../../src/base/clock.ts'
import { createPost } from '../../src/webhooks/post.ts'

const policy = { allowLoopback: true }
const resolve = async () => assert.fail('an address needs no look-up')

/** Time that passes when the test says so. */
function handClock() {
  const asked: number[] = []
  let wake = () => {}
  const clock: Clock = {
    now: () => 0,
    sleep: (ms, signal) =>
      new Promise((done) => {
        asked.push(ms)
        wake = done
        signal?.addEventListener('abort', () => done())
      }),
  }
  return { clock, asked, pass: () => wake() }
}

describe('W-05: a receiver that takes its time', () => {
  let server: Server
  afterEach(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })

  async function receiver(answer: (response: ServerResponse) => void) {
    const { promise: called, resolve: onCalled } = Promise.withResolvers<Socket>()
    server = createServer((request, response) => {
      answer(response)
      onCalled(request.socket)
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, called }
  }

  for (const [what, answer] of [
    ['never answers', () => {}],
    ['begins an answer and never ends it', (response: ServerResponse) => response.writeHead(200).write('well, ')],
  ] as const)
    test(`and ${what} is given up after ten seconds, and hung up on`, async () => {
      const { clock, asked, pass } = handClock()
      const { url, called } = await receiver(answer)
      const post = createPost({ clock, resolve, policy })
      const sent = post({ url, headers: {}, body: '{}' }, new AbortController().signal)
      const socket = await called
      const closed = new Promise((done) => socket.once('close', done))
      assert.deepEqual(asked, [10_000])
      pass()
      await assert.rejects(sent, { message: 'no answer within 10 seconds' })
      await closed
    })

  test('is left at once when the shop stops', async () => {
    const { clock } = handClock()
    const { url, called } = await receiver(() => {})
    const stop = new AbortController()
    const sent = createPost({ clock, resolve, policy })({ url, headers: {}, body: '{}' }, stop.signal)
    await called
    stop.abort()
    await assert.rejects(sent, { name: 'AbortError' })
  })

  test('and sends without end is read for 64 KiB, then hung up on; what it said counts', async () => {
    const { clock } = handClock()
    const { url, called } = await receiver((response) => {
      response.writeHead(200)
      const more = () => {
        while (response.write('x'.repeat(1_024)));
      }
      response.on('drain', more)
      more()
    })
    const sent = createPost({ clock, resolve, policy })({ url, headers: {}, body: '{}' }, new AbortController().signal)
    const closed = new Promise((done) => called.then((socket) => socket.once('close', done)))
    assert.deepEqual(await sent, { status: 200, text: 'x'.repeat(500) })
    await closed
  })
})
