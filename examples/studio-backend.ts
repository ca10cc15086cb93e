// A game backend for Sutler, as a studio would write one: six routes, nothing but Node. Run it with
//
//   SUTLER_GAME_BACKEND_SECRET=<32 characters or more> npx node examples/studio-backend.ts
//
// and start the shop with SUTLER_GAME_BACKEND=http://localhost:4030 and the same secret. docs/game-backend.md is the contract.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'

const { PORT = '4030', GAME_FILE = 'data/game.json', SUTLER_GAME_BACKEND_SECRET: secret = '' } = process.env
if (secret.length < 32) throw new Error('set SUTLER_GAME_BACKEND_SECRET to the secret that the shop has')

// The game. A real one has a database; what matters is that a delivery, and the stock it takes, are written together and before the answer.

type Player = { playerId: string; nickname: string; level: number; wallets: string[] }
type Item = {
  id: string
  name: string
  description: string
  price: string
  stock: { left: number; delivered: number } | null
  limitPerPlayer: number | null
}
type Order = { orderId: string; playerId: string; itemId: string; quantity: number }
type Delivery = Order & { reference: string; deliveredAt: string }
type Game = { players: Player[]; items: Item[]; deliveries: Record<string, Delivery> }

const newGame: Game = {
  players: [
    { playerId: 'p-1', nickname: 'Wren', level: 30, wallets: ['0x1000000000000000000000000000000000000001'] },
    { playerId: 'p-2', nickname: 'Moss', level: 2, wallets: [] },
  ],
  items: [
    {
      id: 'gems:100',
      name: 'Hundred Gems',
      description: 'A pouch of a hundred gems.',
      price: '0.99',
      stock: null,
      limitPerPlayer: null,
    },
    {
      id: 'airship:1',
      name: 'Airship',
      description: 'There are three of them in the whole world.',
      price: '19.00',
      stock: { left: 3, delivered: 0 },
      limitPerPlayer: 1,
    },
  ],
  // Keyed by order id: an order is delivered once, however often it is asked for.
  deliveries: {},
}

const game: Game = existsSync(GAME_FILE) ? JSON.parse(readFileSync(GAME_FILE, 'utf8')) : newGame

function save(): void {
  mkdirSync(dirname(GAME_FILE), { recursive: true })
  writeFileSync(`${GAME_FILE}.new`, JSON.stringify(game, null, 2), { flush: true })
  renameSync(`${GAME_FILE}.new`, GAME_FILE)
}

function deliver(order: Order) {
  const { orderId, playerId, itemId, quantity } = order
  const before = game.deliveries[orderId]
  if (before) return { state: 'delivered', ...before }
  const item = game.items.find(({ id }) => id === itemId)
  const player = game.players.find((player) => player.playerId === playerId)
  const isShort = item?.stock && item.stock.left < quantity
  if (!item || !player || isShort) return { state: 'refused', orderId, reason: isShort ? 'out of stock' : 'unknown' }
  if (item.stock) item.stock = { left: item.stock.left - quantity, delivered: item.stock.delivered + quantity }
  const reference = `grant-${Object.keys(game.deliveries).length + 1}`
  const delivery = { orderId, playerId, itemId, quantity, reference, deliveredAt: new Date().toISOString() }
  game.deliveries[orderId] = delivery
  save()
  return { state: 'delivered', ...delivery }
}

/** "Not received" is a promise: nothing was given for this order, and nothing is under way. */
function whatBecameOf(orderId: string) {
  const delivery = game.deliveries[orderId]
  return delivery ? { state: 'delivered', ...delivery } : { state: 'not_received', orderId }
}

function findPlayer({ nickname, address, playerId }: { nickname?: string; address?: string; playerId?: string }) {
  const isIt = (player: Player) =>
    player.playerId === playerId ||
    player.nickname === nickname?.normalize('NFC') ||
    player.wallets.some((wallet) => wallet.toLowerCase() === address?.toLowerCase())
  return { player: game.players.find(isIt) ?? null }
}

function offersFor({ playerId, itemId }: { playerId: string; itemId?: string }) {
  const player = game.players.find((player) => player.playerId === playerId)
  const shown = game.items.filter(({ id }) => itemId === undefined || id === itemId)
  return { playerId, offers: player ? shown.map((item) => offerFor(player, item)) : [] }
}

function offerFor({ playerId, level }: Player, item: Item) {
  const bought = Object.values(game.deliveries)
    .filter((delivery) => delivery.playerId === playerId && delivery.itemId === item.id)
    .reduce((sum, { quantity }) => sum + quantity, 0)
  return {
    item,
    // Whoever has reached level 30 gets gems for half a dollar.
    price: item.id === 'gems:100' && level >= 30 ? '0.50' : item.price,
    limitLeft: item.limitPerPlayer === null ? null : Math.max(0, item.limitPerPlayer - bought),
    refusal: item.id === 'airship:1' && level < 10 ? 'It needs level 10.' : null,
  }
}

function answer(method: string | undefined, path: string, body: string): object | null {
  switch (`${method} ${path}`) {
    case 'GET /health':
      return { ok: true }
    case 'GET /items':
      return { items: game.items }
    case 'POST /players/find':
      return findPlayer(JSON.parse(body))
    case 'POST /offers':
      return offersFor(JSON.parse(body))
    case 'POST /deliveries':
      return deliver(JSON.parse(body))
  }
  const [, orderId] = /^\/deliveries\/(\w+)$/.exec(path) ?? []
  return method === 'GET' && orderId !== undefined ? whatBecameOf(orderId) : null
}

// Signatures, both ways.

const TOLERANCE_MS = 60_000

const sign = (text: string) => `v1=${createHmac('sha256', secret).update(text).digest('hex')}`

function isFromShop({ method, url, headers }: IncomingMessage, body: string): boolean {
  const timestamp = String(headers['sutler-timestamp'])
  const given = Buffer.from(String(headers['sutler-signature']))
  const expected = Buffer.from(sign(`${timestamp}.${method}.${url}.${body}`))
  // An old request is refused: once its time is over, the shop knows that it can no longer be carried out.
  const isFresh = Math.abs(Date.now() - Number(timestamp)) <= TOLERANCE_MS
  return isFresh && given.length === expected.length && timingSafeEqual(given, expected)
}

function reply(request: IncomingMessage, response: ServerResponse, status: number, content: object): void {
  const body = JSON.stringify(content)
  const signature = sign(`${request.headers['sutler-signature']}.${status}.${body}`)
  response.writeHead(status, { 'content-type': 'application/json', 'sutler-signature': signature }).end(body)
}

const BODY_LENGTH_MAX = 65_536

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) {
    body += chunk
    if (body.length > BODY_LENGTH_MAX) throw new Error('the body is too long')
  }
  if (!isFromShop(request, body)) return reply(request, response, 401, { error: 'not signed by the shop' })
  const content = answer(request.method, request.url ?? '/', body)
  reply(request, response, content ? 200 : 404, content ?? { error: 'no such route' })
}

const server = createServer((request, response) => {
  serve(request, response).catch((error) => {
    console.error(error)
    response.destroy()
  })
})
server.listen(Number(PORT), '127.0.0.1', () => {
  console.log(`game backend on http://127.0.0.1:${(server.address() as AddressInfo).port}`)
})
