import type { Clock } from '../../base/clock.ts'
import type { Log } from '../../base/log.ts'
import type { Waypoint } from '../../base/waypoint.ts'
import type { GameCall, GameCalls } from '../../store/game/calls.ts'
import type { GameDelivery, Grant } from './game.ts'
import { type GameClient, GameSilent } from './game-client.ts'
import { type DeliveryAnswer, deliveryAnswer } from './game-wire.ts'

export type HttpGameOptions = {
  readonly client: GameClient
  readonly calls: GameCalls
  readonly clock: Clock
  readonly log: Log
  readonly waypoint: Waypoint
  /** A backend refuses requests older than this. Until then one whose answer was lost may still be on its way. */
  readonly requestLifeMs: number
  /** The first pause between two tries; each next one is twice as long. */
  readonly retryMs: number
}

const RETRY_MS_MAX = 30_000
/** How often a backend that could not say is asked again while an operator looks into it. */
const UNKNOWN_RETRY_MS = 5 * 60_000

/**
 * A delivery by a studio's own service. The one thing that must not happen here is a second one: a request is written down before it
 * leaves, and once one may have arrived, the backend is asked what became of it before anything is sent again.
 */
export async function deliverByGame(options: HttpGameOptions, delivery: GameDelivery): Promise<Grant> {
  const { calls, clock } = options
  const before = await calls.find(delivery.orderId)
  const grant = before && (await follow(options, delivery, before))
  if (grant) return grant
  if (clock.now() >= delivery.deadline)
    return { state: 'refused', code: 'fulfilment_failed', detail: 'The game did not take the delivery in time.' }
  return send(options, delivery, before)
}

/** A request left earlier: find out what became of it. Null: it never arrived and no longer can. */
async function follow(
  options: HttpGameOptions,
  delivery: GameDelivery,
  { sentAt, verdict }: GameCall,
): Promise<Grant | null> {
  const { client, clock, requestLifeMs } = options
  if (verdict) return decided(verdict.outcome, verdict.by, sentAt)
  const path = `/deliveries/${encodeURIComponent(delivery.orderId)}`
  const answer = await client.read({ method: 'GET', path }, deliveryAnswer).catch((error) => {
    if (error instanceof GameSilent && clock.now() >= delivery.deadline) return null
    throw error
  })
  if (!answer) return unknown(options, delivery, 'The game has not answered for as long as delivery is tried.')
  const grant = judged(options, delivery, answer)
  if (grant) return grant
  const lifeLeft = sentAt + requestLifeMs - clock.now()
  if (lifeLeft <= 0) return null
  return { state: 'pending', detail: 'The request may still be on its way to the game.', retryAfterMs: lifeLeft }
}

function decided(outcome: 'delivered' | 'not_delivered', by: string, sentAt: number): Grant {
  return outcome === 'delivered'
    ? { state: 'delivered', reference: `operator:${by}`, deliveredAt: sentAt }
    : { state: 'refused', code: 'fulfilment_failed', detail: 'An operator found that it was not delivered.' }
}

async function send(options: HttpGameOptions, delivery: GameDelivery, before: GameCall | null): Promise<Grant> {
  const { client, calls, clock, log, waypoint } = options
  const { orderId, playerId, itemId, quantity, lease } = delivery
  const sentAt = clock.now()
  if (!(await calls.begin(lease, { orderId, sentAt, seen: before })))
    return pending(options, delivery, 'Another process is delivering this order.')
  await waypoint('game.called')
  try {
    const body = { orderId, playerId, itemId, quantity }
    const answer = await client.send({ method: 'POST', path: '/deliveries', body, at: sentAt }, deliveryAnswer)
    await waypoint('game.answered')
    return (
      judged(options, delivery, answer) ??
      unknown(options, delivery, 'The game says that it did not receive what it answers.')
    )
  } catch (error) {
    if (!(error instanceof GameSilent)) throw error
    // Without a connection nothing arrived, so there is nothing to ask about: the next try may simply send.
    if (error.neverSent && before === null) await calls.withdraw(orderId, sentAt)
    log.warn('the game did not answer a delivery', { orderId, neverSent: error.neverSent, error: error.cause })
    return pending(options, delivery, 'The game did not answer; it is asked what became of the delivery.')
  }
}

/** What the backend says, as far as it can be believed. Null: it never received the order. */
function judged(options: HttpGameOptions, delivery: GameDelivery, answer: DeliveryAnswer): Grant | null {
  const { clock, log } = options
  const { orderId } = delivery
  if (answer.orderId !== orderId) return unknown(options, delivery, 'The game answered about another order.')
  switch (answer.state) {
    case 'delivered': {
      const { playerId, itemId, quantity, reference, deliveredAt } = answer
      const isRight = playerId === delivery.playerId && itemId === delivery.itemId && quantity === delivery.quantity
      if (isRight) return { state: 'delivered', reference, deliveredAt }
      log.error('the game delivered something else than was bought; the money goes back', {
        orderId,
        bought: { playerId: delivery.playerId, itemId: delivery.itemId, quantity: delivery.quantity },
        delivered: { playerId, itemId, quantity, reference },
      })
      return { state: 'refused', code: 'fulfilment_failed', detail: 'The game delivered something else.' }
    }
    case 'pending':
      return clock.now() < delivery.deadline
        ? pending(options, delivery, 'The game works on the delivery.')
        : unknown(options, delivery, 'The game has worked on the delivery for as long as it is tried.')
    case 'refused':
      log.warn('the game refuses a delivery', { orderId, reason: answer.reason })
      return { state: 'refused', code: 'fulfilment_failed', detail: 'The game refused the delivery.', byBuyer: true }
    case 'unknown':
      return unknown(options, delivery, 'The game does not know whether it delivered.')
    case 'not_received':
      return null
  }
}

/** Nobody but a person can find out now; a second delivery, or money back for one that happened, would both be wrong. */
function unknown({ log }: HttpGameOptions, delivery: GameDelivery, detail: string): Grant {
  const { orderId, playerId, itemId, quantity } = delivery
  const facts = { code: 'delivery_unknown', orderId, playerId, itemId, quantity, detail }
  log.error('the game cannot say whether it delivered; an operator must find out', facts)
  return { state: 'pending', detail, retryAfterMs: UNKNOWN_RETRY_MS }
}

function pending({ retryMs }: HttpGameOptions, { attempts }: GameDelivery, detail: string): Grant {
  return { state: 'pending', detail, retryAfterMs: Math.min(RETRY_MS_MAX, retryMs * 2 ** Math.min(attempts, 10)) }
}
