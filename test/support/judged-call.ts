import type { GameCalls } from '../../src/store/game/calls.ts'

/** The call as whoever decides about it has just seen it. */
export async function judgedCall(calls: GameCalls, orderId: string) {
  return { orderId, sentAt: (await calls.find(orderId))?.sentAt ?? 0 }
}
