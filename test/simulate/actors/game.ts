import type { OutgoingRequest } from '../../../src/base/outgoing.ts'
import { Secret } from '../../../src/base/secret.ts'
import {
  isSignature,
  SIGNATURE_HEADER,
  signAnswer,
  signRequest,
  TIMESTAMP_HEADER,
} from '../../../src/surfaces/shop/game-signature.ts'
import type { Payer } from '../world.ts'
import { answered, type Manner, nobody, type Partner, type Reaction, silence } from './partner.ts'

/** As it was ordered: nobody here orders two of anything, and a game that gives another gives two. */
export const isAsOrdered = ({ quantity }: Given): boolean => quantity === 1

export type Given = {
  readonly orderId: string
  readonly playerId: string
  readonly itemId: string
  readonly quantity: number
  readonly at: number
}

/** A studio's backend: knows its players, gives once per order, refuses what is old, and has its bad moments. */
export type Game = {
  readonly partner: Partner
  /** What players really have. */
  readonly ledger: readonly Given[]
  readonly stock: { left: number; readonly supply: number }
  changePrice(): void
}

export const GAME_URL = 'http://game.universe'
export const GAME_SECRET = new Secret('a secret between a universe and its game')
/** One kind without end, one of which there are two. */
export const PLENTY = 'gems:100'
export const SCARCE = 'airship:1'
const TOLERANCE_MS = 60_000
const SLOW_MS = 6_000

export function createGame(payers: readonly Payer[], now: () => number, manner: Manner): Game {
  const ledger: Given[] = []
  const stock = { left: 2, supply: 2 }
  let price = '0.99'
  const players = payers.map(({ nickname, address }, index) => ({
    playerId: `p-${index}`,
    nickname,
    level: 10,
    wallets: [address],
  }))
  const itemOf = (id: string) => {
    const left = id === SCARCE ? { left: stock.left, delivered: stock.supply - stock.left } : null
    return { id, name: id, description: id, price, stock: left, limitPerPlayer: null }
  }

  function give(order: Omit<Given, 'at'>, tampered: boolean): object {
    const { orderId, itemId, quantity } = order
    const before = ledger.find((given) => given.orderId === orderId)
    if (before) return told(before)
    if (manner() === 'refuses') return { state: 'refused', orderId, reason: 'not today' }
    if (itemId === SCARCE && stock.left < quantity) return { state: 'refused', orderId, reason: 'out of stock' }
    if (itemId === SCARCE) stock.left -= quantity
    const given = { ...order, quantity: tampered ? quantity + 1 : quantity, at: now() }
    ledger.push(given)
    return told(given)
  }

  function told({ orderId, playerId, itemId, quantity, at }: Given): object {
    const deliveredAt = new Date(at).toISOString()
    return { state: 'delivered', orderId, playerId, itemId, quantity, reference: `grant-${orderId}`, deliveredAt }
  }

  function contentOf(method: string, path: string, text: string): object | null {
    const body = text === '' ? {} : (JSON.parse(text) as Record<string, string>)
    switch (`${method} ${path}`) {
      case 'GET /health':
        return { ok: true }
      case 'GET /items':
        return { items: [itemOf(PLENTY), itemOf(SCARCE)] }
      case 'POST /players/find': {
        const { nickname, address, playerId } = body
        const isIt = (player: (typeof players)[number]) =>
          player.nickname === nickname ||
          player.playerId === playerId ||
          player.wallets.some((wallet) => wallet.toLowerCase() === address?.toLowerCase())
        return { player: players.find(isIt) ?? null }
      }
      case 'POST /offers': {
        const { playerId, itemId } = body
        const items = itemId === undefined ? [PLENTY, SCARCE] : [itemId]
        const offers = items.map((id) => ({ item: itemOf(id), price, limitLeft: null, refusal: null }))
        return { playerId, offers }
      }
      case 'POST /deliveries':
        return give(body as unknown as Given, manner() === 'gives another')
    }
    const orderId = /^\/deliveries\/(\w+)$/.exec(path)?.[1]
    if (method !== 'GET' || orderId === undefined) return null
    const before = ledger.find((given) => given.orderId === orderId)
    return before ? told(before) : { state: 'not_received', orderId }
  }

  async function partner(request: OutgoingRequest): Promise<Reaction> {
    const { method, url, body = '', headers = {} } = request
    const path = url.slice(GAME_URL.length)
    const isDelivery = `${method} ${path}` === 'POST /deliveries'
    const current = manner()
    if (current === 'down') return nobody
    if (current === 'loses requests' && isDelivery) return silence
    const timestamp = Number(headers[TIMESTAMP_HEADER])
    const signed = { method: method as 'GET' | 'POST', path, body, timestamp }
    const given = headers[SIGNATURE_HEADER]
    const isOurs = isSignature(given, signRequest(GAME_SECRET, signed))
    const reply = (status: number, content: unknown): Reaction => {
      const signature = signAnswer(GAME_SECRET, given!, status, JSON.stringify(content))
      return answered(status, content, { [SIGNATURE_HEADER]: signature })
    }
    if (!isOurs || Math.abs(now() - timestamp) > TOLERANCE_MS) return reply(401, { error: 'old, or not from the shop' })
    const cannotSay = current === 'cannot say' || current === 'never remembers'
    if (cannotSay && path.startsWith('/deliveries/'))
      return reply(200, { state: 'unknown', orderId: path.split('/')[2] })
    const content = contentOf(method, path, body)
    if (isDelivery && (current === 'loses answers' || current === 'cannot say')) return silence
    const reaction = reply(content ? 200 : 404, content ?? { error: 'no such route' })
    return current === 'is slow' && isDelivery ? { ...reaction, delayMs: SLOW_MS } : reaction
  }

  return {
    partner,
    ledger,
    stock,
    changePrice() {
      price = price === '0.99' ? '1.49' : '0.99'
    },
  }
}
