import type { Clock } from './clock.ts'
import type { Exchange } from './outgoing.ts'

/** What became of a question to somebody outside. A status of 500 or more is no answer to it. */
export type Asked = { readonly outcome: 'answered' | 'failed'; readonly ms: number }

/** The same exchange, whose every question is told of. */
export function measuredExchange(exchange: Exchange, clock: Clock, observe: (asked: Asked) => void): Exchange {
  return async (request) => {
    const askedAt = clock.now()
    const tell = (outcome: Asked['outcome']) => observe({ outcome, ms: Math.max(0, clock.now() - askedAt) })
    try {
      const answer = await exchange(request)
      tell(answer.status < 500 ? 'answered' : 'failed')
      return answer
    } catch (error) {
      tell('failed')
      throw error
    }
  }
}
