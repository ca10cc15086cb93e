import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createLog } from '../../src/base/log.ts'
import { createHeadListener } from '../../src/chain/head-listener.ts'
import { pollUntil } from '../../src/chain/receipt.ts'
import { lineTo } from '../../src/service/chains.ts'
import { handClock } from '../support/hand-clock.ts'
import { answersOf, type HeadServer, headMessage, startHeadServer } from '../support/head-server.ts'
import { until } from '../support/until.ts'

// One listener, a stock server of WebSocket, and time that is moved by hand.

const CHAIN = 84532
const START = 1_800_000_000_000
const HEAD = headMessage({ number: '0x10' })

async function startListener(t: TestContext, server: HeadServer) {
  const clock = handClock(START)
  const lines: string[] = []
  const stopping = new AbortController()
  const log = createLog({ level: 'info', clock, write: (line) => lines.push(line) })
  const listener = createHeadListener({ chainId: CHAIN, clock, log })
  t.after(() => stopping.abort())
  t.after(() => server.close())
  listener.listen(lineTo(server.url), stopping.signal)
  /** Whoever waits for something that never comes, and when they ask. */
  function wait(waitMs: number) {
    const times: number[] = []
    const asking = async () => {
      times.push(clock.now() - START)
      return null
    }
    return { times, done: pollUntil(clock, waitMs, asking, listener) }
  }
  return { clock, listener, lines, stopping, wait }
}

test('while blocks are told of, somebody asks soon, at each block and twice after it, and every second', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener, wait } = await startListener(t, server)
  await until(listener.isHearing)
  const { times, done } = wait(4_000)
  await clock.pass(700)
  await server.say(HEAD)
  await clock.pass(3_300)
  await done
  assert.deepEqual(times, [0, 5, 700, 850, 1_150, 2_150, 3_150, 4_000])
})

test('a block that is told of while somebody asks is not lost', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener } = await startListener(t, server)
  await until(listener.isHearing)
  let asked = 0
  const found = pollUntil(
    clock,
    4_000,
    async () => {
      asked++
      if (asked === 2) await server.say(HEAD)
      return asked === 3 ? clock.now() - START : null
    },
    listener,
  )
  await clock.pass(5)
  assert.equal(await found, 5)
})

test('all who wait are woken together', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener, wait } = await startListener(t, server)
  await until(listener.isHearing)
  const early = wait(3_000)
  await clock.pass(137)
  const late = wait(3_000)
  await clock.pass(400)
  await server.say(HEAD)
  await clock.pass(500)
  const since = (times: readonly number[]) => times.filter((at) => at >= 537)
  assert.deepEqual(since(early.times), [537, 687, 987])
  assert.deepEqual(since(late.times), since(early.times))
  await clock.pass(3_000)
  await Promise.all([early.done, late.done])
})

test('M-18: however often blocks are told of, nobody asks more often than by the clock', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener, wait } = await startListener(t, server)
  await until(listener.isHearing)
  const { times, done } = wait(2_100)
  for (let at = 0; at < 2_100; at += 30) {
    await server.say(HEAD)
    await clock.pass(30)
  }
  await done
  const pauses = times.slice(2).map((at, index) => at - times[index + 1]!)
  // The first block may come at once; after that it is the beat.
  assert.ok(
    pauses.slice(1, -1).every((pause) => pause >= 150),
    String(times),
  )
  assert.ok(times.length <= 17, String(times))
})

test('M-18: a node that floods is hung up on, and called again ever less often', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener, lines } = await startListener(t, server)
  const calls: number[] = []
  for (let round = 1; round <= 4; round++) {
    await until(listener.isHearing)
    calls.push(clock.now() - START)
    await server.say(...Array.from({ length: 10_000 }, () => HEAD))
    await until(() => !listener.isHearing() && server.listeners() === 0)
    assert.ok(listener.told() <= 2 * round)
    for (const before = server.calls(); server.calls() === before; ) await clock.pass(500)
  }
  assert.deepEqual(calls, [0, 1_000, 3_000, 7_000])
  assert.equal(lines.filter((line) => /more than 100 messages a second/.test(line)).length, 4)
})

/** Nodes that are no use, each in its way. */
const useless = {
  'says nothing': { answer: () => undefined, reason: /nothing is heard of it/, waits: 12_000 },
  'does not tell of blocks': {
    answer: (question: { readonly method: string }) =>
      question.method === 'eth_chainId' ? answersOf(CHAIN)(question) : { error: { code: -32601, message: 'no' } },
    reason: /refuses eth_subscribe/,
    waits: 0,
  },
  'is of another chain': {
    answer: answersOf(8453),
    reason: /leads to another chain and is not used; correct its _LISTEN_URL.*it is of chain 8453, not 84532/,
    waits: 0,
  },
  'names its chain in words': { answer: () => ({ result: ['0x14a34'] }), reason: /does not say which chain/, waits: 0 },
}

for (const [what, { answer, reason, waits }] of Object.entries(useless))
  test(`M-18: a node that ${what} is not listened to: all is asked by the clock`, async (t) => {
    const server = await startHeadServer(CHAIN, answer)
    const { clock, listener, lines, wait } = await startListener(t, server)
    await until(() => server.asked.length > 0)
    const { times, done } = wait(1_000)
    await clock.pass(1_000)
    await done
    await clock.pass(waits)
    await until(() => lines.some((line) => reason.test(line)))
    assert.deepEqual([listener.isUsed(), listener.isHearing(), listener.told()], [true, false, 0])
    const alone: number[] = []
    const own = handClock(START)
    const polled = pollUntil(own, 1_000, async () => {
      alone.push(own.now() - START)
      return null
    })
    await own.pass(1_000)
    await polled
    assert.deepEqual(times, alone)
  })

for (const [what, text] of Object.entries({
  'no JSON': 'hello',
  'a number': '7',
  null: 'null',
  nothing: '',
  'a list': '[]',
}))
  test(`M-18: a node that says ${what} is hung up on`, async (t) => {
    const server = await startHeadServer(CHAIN)
    const { listener, lines } = await startListener(t, server)
    await until(listener.isHearing)
    await server.say(text)
    await until(() => lines.some((line) => /is no JSON-RPC/.test(line)))
    assert.equal(listener.isHearing(), false)
  })

test('M-18: what is of no subscription of ours wakes nobody', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { listener } = await startListener(t, server)
  await until(listener.isHearing)
  await server.say(
    JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: { subscription: '0x1', result: {} } }),
    JSON.stringify({ jsonrpc: '2.0', method: 'eth_subscription', params: null }),
    JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' }),
    '{"jsonrpc":"2.0"}',
  )
  assert.deepEqual([listener.told(), listener.isHearing()], [0, true])
  await server.say(HEAD)
  assert.equal(listener.told(), 1)
})

test('on a chain that makes no blocks a sign of life is enough, and without one it is over', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener } = await startListener(t, server)
  await until(listener.isHearing)
  for (let at = 0; at < 30_000; at += 1_000) {
    await clock.pass(1_000)
    // What was asked for by then is answered before anything else is said.
    await server.say()
  }
  assert.equal(listener.isHearing(), true)
  const goOn = server.stall()
  let silentMs = 0
  for (; listener.isHearing(); silentMs += 1_000) await clock.pass(1_000)
  assert.ok(silentMs <= 10_000, String(silentMs))
  while (server.calls() < 2) await clock.pass(1_000)
  goOn()
  await until(() => server.listeners() === 1 && listener.isHearing())
})

test('a node that goes away is called again, and whoever waits meanwhile asks by the clock', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener, lines, wait } = await startListener(t, server)
  await until(listener.isHearing)
  const { times, done } = wait(3_000)
  await clock.pass(100)
  server.drop()
  await until(() => !listener.isHearing())
  await clock.pass(900)
  // Woken by the loss, and not one of them later than by the clock.
  assert.ok(times.includes(100) && times.length > 8, String(times))
  await clock.pass(200)
  await until(listener.isHearing)
  assert.equal(server.calls(), 2)
  await clock.pass(2_000)
  await done
  assert.equal(lines.filter((line) => /block subscription lost/.test(line)).length, 1)
})

test('a stop hangs up at once, though the other side says and reads nothing', async (t) => {
  const server = await startHeadServer(CHAIN)
  const { clock, listener, stopping, lines } = await startListener(t, server)
  await until(listener.isHearing)
  const goOn = server.stall()
  stopping.abort()
  await until(() => !listener.isHearing())
  await clock.pass(120_000)
  goOn()
  await until(() => server.listeners() === 0)
  assert.equal(server.calls(), 1)
  assert.equal(lines.filter((line) => /"level":"(warn|error)"/.test(line)).length, 0)
})
