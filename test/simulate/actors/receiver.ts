import type { Post, PostMessage } from '../../../src/webhooks/post.ts'
import type { Manner } from './partner.ts'

export type Message = {
  readonly id: string
  /** At which of its addresses. */
  readonly url: string
  readonly subject: string
  readonly sequence: number
  readonly type: string
}

/** Somebody who is told of events, and writes down what they hear. */
export type Receiver = {
  readonly post: Post
  readonly log: readonly Message[]
}

export const RECEIVER_URL = 'https://receiver.universe/events'

export function createReceiver(manner: Manner): Receiver {
  const log: Message[] = []

  function hear({ url, headers, body }: PostMessage): void {
    const { type, data } = JSON.parse(body) as { type: string; data: Record<string, unknown> }
    const subject = String(data['orderId'] ?? data['transferId'] ?? data['reportId'] ?? data['id'])
    log.push({ id: headers['webhook-id']!, url, subject, sequence: Number(data['sequence']), type })
  }

  return {
    log,
    async post(message) {
      switch (manner()) {
        case 'down':
          throw new Error('nobody is there')
        case 'fails':
          return { status: 500, text: 'oops' }
        // It has heard, and its answer comes too late to count.
        case 'is slow':
          hear(message)
          throw new Error('no answer within 10 seconds')
        default:
          hear(message)
          return { status: 204, text: '' }
      }
    },
  }
}
