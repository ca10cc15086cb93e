import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { isProblem } from '../../src/base/problem.ts'
import { createPost } from '../../src/webhooks/post.ts'
import { reachableAddress, readTarget } from '../../src/webhooks/target.ts'
import { verifies } from '../support/verifies.ts'

const strict = { allowLoopback: false }
const lenient = { allowLoopback: true }
const unresolved = async () => assert.fail('an address needs no look-up')

async function isAllowed(
  url: string,
  resolve: (name: string) => Promise<readonly string[]>,
  policy = strict,
): Promise<boolean> {
  try {
    await reachableAddress(readTarget(url, policy), resolve, policy)
    return true
  } catch (error) {
    if (isProblem(error, 'invalid_request')) return false
    throw error
  }
}

const FORBIDDEN = [
  // Loopback, in every spelling that some parser takes.
  'https://127.0.0.1/',
  'https://127.1/',
  'https://2130706433/',
  'https://0x7f000001/',
  'https://0177.0.0.1/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::127.0.0.1]/',
  'https://[64:ff9b::127.0.0.1]/',
  'https://[2002:7f00:1::]/',
  'https://0.0.0.0/',
  'https://[::]/',
  'https://１２７.0.0.1/',
  // Private networks.
  'https://10.0.0.1/',
  'https://012.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.0.1/',
  'https://0xc0a80001/',
  'https://100.64.0.1/',
  'https://[fc00::1]/',
  'https://[fd12:3456:789a::1]/',
  'https://[::ffff:10.0.0.1]/',
  'https://[2002:a00:1::]/',
  // Link-local and the metadata services of clouds.
  'https://169.254.169.254/latest/meta-data/',
  'https://0251.0376.0251.0376/',
  'https://169.254.170.2/',
  'https://[fe80::1]/',
  'https://[fd00:ec2::254]/',
  'https://[::ffff:169.254.169.254]/',
  'https://100.100.100.200/',
  'https://168.63.129.16/',
  'https://192.0.0.192/',
  // Not for hosts: documentation, benchmarks, multicast, broadcast, reserved, tunnels.
  'https://192.0.2.1/',
  'https://198.18.0.1/',
  'https://224.0.0.1/',
  'https://240.0.0.1/',
  'https://255.255.255.255/',
  'https://192.88.99.1/',
  'https://[2001:db8::1]/',
  'https://[2001::1]/',
  'https://[ff02::1]/',
  'https://[3fff::1]/',
]

test(`W-01: ${FORBIDDEN.length} ways to write an address that is not public are refused`, async () => {
  verifies('D10.7')
  for (const url of FORBIDDEN) assert.equal(await isAllowed(url, unresolved), false, url)
})

test('W-01: only https, without a password, and no port of mail, shells or databases', async () => {
  verifies('D10.7')
  const anywhere = async () => ['93.184.216.34']
  for (const url of [
    'http://example.com/hook',
    'ftp://example.com/hook',
    'file:///etc/passwd',
    'gopher://example.com/',
    'javascript:alert(1)',
    'not a url',
    '',
    'https://user:secret@example.com/',
    'https://example.com:22/',
    'https://example.com:25/',
    `https://example.com/${'a'.repeat(3000)}`,
  ])
    assert.equal(await isAllowed(url, anywhere), false, url)
  for (const url of [
    'https://example.com/hook',
    'https://example.com:8443/',
    'https://1.1.1.1/',
    'https://[2606:4700:4700::1111]/',
  ])
    assert.equal(await isAllowed(url, anywhere), true, url)
})

test('W-01: a name is refused when any of its addresses is not public, and when it has none', async () => {
  const to = (...addresses: string[]) => isAllowed('https://hook.example.com/', async () => addresses)
  assert.equal(await to('93.184.216.34'), true)
  assert.equal(await to('93.184.216.34', '10.0.0.1'), false)
  assert.equal(await to('::1'), false)
  assert.equal(await to('::ffff:169.254.169.254'), false)
  assert.equal(await to(), false)
})

test('loopback is allowed only where it was asked for, and then only loopback goes without TLS', async () => {
  assert.equal(await isAllowed('http://127.0.0.1:9000/', unresolved, lenient), true)
  assert.equal(await isAllowed('http://localhost:9000/', async () => ['127.0.0.1', '::1'], lenient), true)
  assert.equal(await isAllowed('http://example.com/', async () => ['93.184.216.34'], lenient), false)
  assert.equal(await isAllowed('https://intranet/', async () => ['10.0.0.1'], lenient), false)
  assert.equal(await isAllowed('https://mixed/', async () => ['127.0.0.1', '10.0.0.1'], lenient), false)
})

/** A server that must not be reached, and what it heard. */
async function forbiddenServer() {
  const heard: string[] = []
  const server = createServer((request, response) => {
    heard.push(request.url ?? '')
    response.end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { heard, port, stop: () => new Promise((resolve) => server.close(resolve)) }
}

const message = { headers: {}, body: '{}' }

test('W-01: a name that was public at registration and leads inside at delivery is not called (DNS rebinding)', async () => {
  const inside = await forbiddenServer()
  let looks = 0
  // The classic: the first answer passes the check, the next one is where the connection would go.
  const rebinding = async () => (++looks === 1 ? ['93.184.216.34'] : ['127.0.0.1'])
  const url = `https://rebind.example.com:${inside.port}/`
  assert.equal(await isAllowed(url, rebinding), true)
  const post = createPost({ clock: systemClock, resolve: rebinding, policy: strict })
  await assert.rejects(post({ ...message, url }, new AbortController().signal), /leads to this very machine/)
  assert.equal(looks, 2, 'each delivery looks the name up once, and connects to what was checked')
  assert.deepEqual(inside.heard, [])
  await inside.stop()
})

test('W-01: the connection goes to the address that was checked, and the name is looked up once', async () => {
  const receiver = await forbiddenServer()
  let looks = 0
  const resolve = async () => {
    looks++
    return ['127.0.0.1']
  }
  const post = createPost({ clock: systemClock, resolve, policy: lenient })
  const { status } = await post(
    { ...message, url: `http://no-such-name.invalid:${receiver.port}/hook` },
    new AbortController().signal,
  )
  assert.equal(status, 200)
  assert.deepEqual([looks, receiver.heard], [1, ['/hook']])
  await receiver.stop()
})
