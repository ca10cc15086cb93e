// An enemy in a process of its own: floods a shop in one way, at a bounded rate, from addresses of its own, until it is killed.
import { randomBytes } from 'node:crypto'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export type Flood = 'bogus pushes' | 'stalled sockets' | 'replays' | 'unpaid 402' | 'unknown pages'
export type FloodOrder = {
  readonly flood: Flood
  readonly url: string
  readonly perSecond: number
  /** A challenge of the shop, and a payment that it has taken. */
  readonly challenge: Record<string, unknown>
  readonly spent: string
}

const { flood, url, perSecond, challenge, spent } = JSON.parse(process.argv[2]!) as FloodOrder
/** Eight strangers. */
const agents = Array.from({ length: 8 }, (_, i) => new Agent({ keepAlive: true, localAddress: `127.0.0.${10 + i}` }))
let sent = 0

function send(path: string, init: { method?: string; headers?: Record<string, string>; body?: string } = {}): void {
  const { method = 'GET', headers = {}, body } = init
  const agent = agents[sent++ % agents.length]!
  const outgoing = request(url + path, { agent, method, headers }, (incoming) => incoming.resume())
  outgoing.on('error', () => {})
  outgoing.end(body)
}

const credential = () => {
  const payload = { type: 'hash', hash: `0x${randomBytes(32).toString('hex')}` }
  return `Payment ${Buffer.from(JSON.stringify({ challenge, payload })).toString('base64url')}`
}

/** Asks for large documents, many at once on one connection, and never reads a byte. */
function stall(): void {
  const socket = connect({
    port: Number(new URL(url).port),
    host: '127.0.0.1',
    localAddress: `127.0.0.${10 + (sent++ % 8)}`,
  })
  socket.on('error', () => {})
  socket.pause()
  socket.write('GET /openapi.full.json HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(60))
  socket.write('OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(900))
}

const ways: Readonly<Record<Flood, () => void>> = {
  'bogus pushes': () => send('/shop/mpp/player-lookup', { method: 'POST', headers: { authorization: credential() } }),
  'stalled sockets': stall,
  replays: () => send('/x402/cheap-health', { headers: { 'payment-signature': spent } }),
  'unpaid 402': () => send('/x402/cheap-health'),
  'unknown pages': () => send(`/nothing/${sent}`),
}

/** A socket asks for nearly a thousand things at once: three of them in a second are as many requests as all other floods together. */
const SOCKET_EVERY = 100
const each = flood === 'stalled sockets' ? 1 / SOCKET_EVERY : 1

const TICK_MS = 20
let due = 0
for (;;) {
  for (due += (perSecond * each * TICK_MS) / 1000; due >= 1; due--) ways[flood]()
  await pause(TICK_MS)
}
