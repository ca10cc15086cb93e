import { type JsonObject, stringify } from '../../base/json.ts'
import type { Outcome } from '../../checkout/answer.ts'
import type { Order } from '../../domain/order.ts'
import type { Rail } from '../../domain/rail.ts'
import type { ProblemResults } from './problem-result.ts'
import { type ToolCall, type ToolResult, text } from './server.ts'

type Taken = Exclude<Outcome, { kind: 'challenged' }>

const REPLAYED_META = 'sutler/replayed'

/**
 * What a purchase came to once its payment may have been taken. From here on nothing asks for money again: clients pay whatever asks,
 * and some do so up to three times. The receipt stands in `_meta`, and `next` names the tool that tells how it goes on.
 */
export function createOutcomeResults(pollWith: string, problemResult: ProblemResults) {
  const nextOf = ({ id }: Order): JsonObject => ({ tool: pollWith, arguments: { reference: id } })
  const poll = (order: Order) => text(`Do not pay again. Call ${pollWith} with reference "${order.id}" to follow it.`)

  return (outcome: Taken, { mcp }: Rail, { meta: sent }: ToolCall): ToolResult => {
    const meta = mcp.receiptFor(outcome.wire.meta, sent)
    switch (outcome.kind) {
      case 'delivered': {
        const { answer, isReplay } = outcome
        return {
          content: [text(answer.body)],
          structuredContent: JSON.parse(answer.body) as JsonObject,
          _meta: isReplay ? { ...meta, [REPLAYED_META]: true } : meta,
        }
      }
      case 'moving': {
        const body = { ...outcome.body, next: nextOf(outcome.order) }
        return { content: [text(stringify(body)), poll(outcome.order)], structuredContent: body, _meta: meta }
      }
      case 'public':
        return { content: [text(stringify(outcome.body))], structuredContent: outcome.body, _meta: meta }
      case 'failed': {
        const { content = [], ...failure } = problemResult(outcome.problem)
        const next = nextOf(outcome.order)
        return {
          ...failure,
          content: [...content, poll(outcome.order)],
          structuredContent: { status: outcome.order.status, orderId: outcome.order.id, next },
          _meta: { ...failure._meta, ...meta },
        }
      }
    }
  }
}
