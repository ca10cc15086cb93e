import assert from 'node:assert/strict'
import { lookup } from 'node:dns/promises'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, test } from 'node:test'
import { createResolve } from '../../src/webhooks/names.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { handClock } from '../support/hand-clock.ts'
import { until } from '../support/until.ts'
import { type NameServer, startNameServer } from './name-server.ts'

const IPV4 = '93.184.216.34'

let server: NameServer
afterEach(() => server.stop())

/** Look-ups that occupy a thread of this process, or wait for one. */
const threadsAsked = () => process.getActiveResourcesInfo().filter((what) => what === 'GetAddrInfoReqWrap').length

describe('W-05: a receiver whose name server is silent', () => {
  test('takes no thread from the look-ups of the shop, and is given up after ten seconds', async () => {
    server = await startNameServer(() => 'silence')
    const resolve = createResolve({ servers: [server.address] })
    const clock = handClock(0)
    const post = createPost({ clock, resolve, policy: { allowLoopback: false } })
    const message = { url: 'https://hooks.receiver.example/', headers: {}, body: '{}' }
    const sent = Array.from({ length: 8 }, () => post(message, new AbortController().signal))
    const ended = Promise.allSettled(sent)
    await until(() => server.heard.length >= 16 || threadsAsked() > 0)
    assert.equal(threadsAsked(), 0)
    await lookup('localhost')
    await clock.pass(10_000)
    for (const { reason } of (await ended) as PromiseRejectedResult[])
      assert.equal(reason.message, 'no answer within 10 seconds')
    assert.equal(threadsAsked(), 0)
  })

  test('is asked no more when nobody waits for it', async () => {
    server = await startNameServer(() => 'silence')
    const stop = new AbortController()
    const asked = createResolve({ servers: [server.address] })('hooks.receiver.example', stop.signal)
    asked.catch(() => {})
    await until(() => server.heard.length === 2)
    stop.abort()
    await assert.rejects(asked, /hooks\.receiver\.example \(ECANCELLED\)/)
  })

  test('or denies the name and is silent when the system asks keeps one thread, and nobody whose name is known', async () => {
    server = await startNameServer(({ name, type }) =>
      name !== 'good.example' ? 'denied' : type === 'A' ? [IPV4] : [],
    )
    const asked: string[] = []
    const { promise: silence, resolve: endSilence } = Promise.withResolvers<readonly string[]>()
    const askSystem = (name: string) => {
      asked.push(name)
      return silence
    }
    const resolve = createResolve({ servers: [server.address], askSystem })
    const names = Array.from({ length: 9 }, (_, index) => `hooks${index}.example`)
    const refused: string[] = []
    const waiting = [...names, ...names].map((name) =>
      resolve(name).catch((error: Error) => {
        assert.match(error.message, /too many names wait/)
        refused.push(name)
      }),
    )
    await until(() => refused.length === 2)
    assert.equal(refused[0], refused[1], 'whoever waits for the same name waits together')
    assert.deepEqual(await resolve('good.example'), [IPV4])
    assert.equal(asked.length, 1)
    endSilence([IPV4])
    await Promise.all(waiting)
    assert.deepEqual([...asked, refused[0]].toSorted(), names, 'each in its turn, and once')
    assert.deepEqual(await resolve(refused[0]!), [IPV4], 'and there is room again')
  })
})

describe('the name of a receiver', () => {
  test('is asked of the system when name servers deny it, and of nobody else when it is of this network', async () => {
    server = await startNameServer(() => 'denied')
    const resolve = createResolve({ servers: [server.address], askSystem: async (name) => [`of ${name}`] })
    for (const name of ['hooks.office', 'studio', 'studio.local', 'hooks.localhost'])
      assert.deepEqual(await resolve(name), [`of ${name}`])
    assert.deepEqual([...new Set(server.heard.map(({ name }) => name))], ['hooks.office'])
  })

  test('in the hosts file counts, whatever name servers say and whoever waits for the system', async (context) => {
    server = await startNameServer(({ type }) => (type === 'A' ? [IPV4] : []))
    const folder = await mkdtemp(join(tmpdir(), 'sutler-hosts-'))
    context.after(() => rm(folder, { recursive: true }))
    const hostsFile = join(folder, 'hosts')
    await writeFile(hostsFile, '127.0.0.1 localhost\n# 10.0.0.9 gone.example\n10.0.0.7\tHooks.example hooks # ours\n')
    const askSystem = async (name: string) => (name === 'slow.local' ? new Promise<never>(() => {}) : [`of ${name}`])
    const resolve = createResolve({ servers: [server.address], hostsFile, askSystem })
    void resolve('slow.local')
    for (const name of ['localhost', 'hooks.example', 'hooks']) assert.deepEqual(await resolve(name), [`of ${name}`])
    assert.deepEqual(server.heard, [])
    assert.deepEqual(await resolve('gone.example'), [IPV4])
  })
})
