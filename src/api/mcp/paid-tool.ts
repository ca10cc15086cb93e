import * as z from 'zod'
import type { Random } from '../../base/id.ts'
import { canonical, type JsonObject } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import { isProblem, MAY_HAVE_MOVED, Problem } from '../../base/problem.ts'
import type { Outcome } from '../../checkout/answer.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import type { Misplaced } from '../../checkout/misplaced.ts'
import { withoutClaim } from '../../checkout/paid-words.ts'
import { answerFormer, purchase, refuse } from '../../checkout/purchase.ts'
import { IDEMPOTENCY_KEY } from '../../domain/fields.ts'
import type { Challenger, Incoming, Rail } from '../../domain/rail.ts'
import type { PaidRoute } from '../../domain/route.ts'
import type { ToolDescription } from '../../domain/tool-description.ts'
import { railsOf, shownTo } from '../gate/misplaced-payment.ts'
import type { PaymentGate } from '../gate/payment-gate.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { parseWith } from '../http/parse.ts'
import { flowIdOf } from '../http/request.ts'
import { requestOfCall } from './free-tool.ts'
import { inputSchemaOf, listingOf, mergedInputs, noInput, paidOutputSchema, withArgument } from './listing.ts'
import { createOutcomeResults } from './outcome-result.ts'
import { type Challenged, paymentRequired } from './payment-required.ts'
import type { ProblemResults } from './problem-result.ts'
import { CODE, McpError } from './protocol.ts'
import type { McpTool, ToolCall, ToolResult } from './server.ts'

export type PaidToolOptions = {
  readonly checkout: Checkout
  readonly limiter: RateLimiter
  readonly paymentGate: PaymentGate
  readonly random: Random
  readonly problemResult: ProblemResults
  /** Every rail that is switched on, whether this tool takes it or not. */
  readonly rails: readonly Rail[]
}

/** A row of the table, sold as a tool: its challenges name the tool. */
type Sold = PaidRoute & { readonly challenge: Challenger }

/** The same good on a rail that was retired: nobody is asked to pay there any more, but who has paid is owed an answer. */
type Former = Pick<Sold, 'offer' | 'challenge' | 'body' | 'isRateLimited'>

/** A good with all the rails it is offered on, a row for each. It is sold by the very `purchase` that sells it over HTTP. */
export function paidTool(tool: ToolDescription, rows: readonly PaidRoute[], options: PaidToolOptions): McpTool {
  const { checkout, limiter, paymentGate, random, problemResult, rails } = options
  const { summary } = rows[0]!
  const resource = { url: `mcp://tool/${tool.name}`, scope: `MCP ${tool.name}`, description: summary }
  const sold: readonly Sold[] = rows.map((row) => ({ ...row, challenge: row.offer.rail.challenger(resource) }))
  const former = formerOffers(checkout, rows, rails).map(
    (offer): Former => ({ ...rows[0]!, offer, challenge: offer.rail.challenger(resource) }),
  )
  const readers = [...rails, ...railsOf(checkout)]
  const httpCalls = rows.map(({ method, offer, path }) => `${method} ${offer.rail.baseUrl}${path}`)
  const isRateLimited = rows.some((row) => row.isRateLimited)
  const outcomeResult = createOutcomeResults(tool.pollWith ?? 'get_purchase_status', problemResult)

  return {
    name: tool.name,
    listing: () => paidListing(tool, rows),
    priceMeta: () => priceMeta(rows),

    async call(input, call) {
      const incoming = incomingOf(call)
      // Nothing may be sold by a protocol any more, and yet money has come by it.
      const paidOn = paidRail(rails, incoming) ?? readers.find((rail) => carries(rail, incoming)) ?? null
      const before = former.find(({ offer }) => offer.rail === paidOn)
      if (!paidOn && isRateLimited) limiter.take('unpaid', call.http)
      const { request, idempotencyKey } = paidOn ? readPaidInput(tool, input) : readInput(tool, input)
      const flowId = flowIdOf(call.http, random)
      // Bound to the tool and to these arguments, a challenge buys nothing else. What is empty binds nothing, as over HTTP.
      const body = Object.keys(request).length === 0 ? null : Buffer.from(canonical(request))

      const requestOf = (row: Former, incoming: Incoming) => ({
        resource,
        challenge: row.challenge,
        incoming,
        body,
        bodyIsBound: true,
        isProbe: false,
        parse: () => parseWith(row.body ?? noInput, request),
        flowId,
        idempotencyKey,
      })
      const attempt = (row: Sold, incoming: Incoming) => purchase(checkout, row.offer, requestOf(row, incoming))

      const demand = async (
        refusal: Problem | null,
        refused?: { row: Sold; outcome: Challenged },
      ): Promise<ToolResult> => {
        const challenges = await challengesOf(
          sold.map((row) => (row === refused?.row ? refused.outcome : attempt(row, NOTHING_SENT))),
        )
        return paymentRequired({ challenges, refusal, rails, summary, httpCalls }, call)
      }

      if (before) {
        const { offer } = before
        const answer = () => answerFormer(checkout, offer, requestOf(before, incoming))
        const outcome = await paymentGate.admit(call.http, { route: before, incoming }, answer)
        return outcome.kind === 'challenged' ? demand(outcome.problem) : outcomeResult(outcome, offer.rail, call)
      }
      if (!paidOn) return demand(null)
      const taker = sold.find(({ offer }) => offer.rail === paidOn)
      const row = taker ?? sold[0]!
      const buy = () =>
        taker
          ? attempt(taker, incoming)
          : refuse(checkout, row.offer, requestOf(row, NOTHING_SENT), untakenBy(paidOn, readers, incoming))
      try {
        const outcome = await paymentGate.admit(call.http, { route: row, incoming }, buy)
        if (outcome.kind !== 'challenged') return outcomeResult(outcome, paidOn, call)
        return await demand(outcome.problem, { row, outcome })
      } catch (error) {
        // Over HTTP this is a 400. Over MCP what cannot be read is answered like any other refused payment: one protocol's transport wants it.
        if (!isProblem(error, 'payment_payload_invalid') || error.status !== 400) throw error
        return demand(error)
      }
    },
  }
}

function untakenBy({ name }: Rail, readers: readonly Rail[], incoming: Incoming): Misplaced {
  const detail = `This tool takes no payment by ${name}.`
  const problem = new Problem('payment_terms_mismatch', detail)
  const theirs = readers.filter((rail) => rail.name === name)
  const payment = shownTo(theirs, incoming)
  const moved = new Problem(
    'payment_misplaced',
    `${detail} Send it to the tool whose challenge it was made for.`,
    MAY_HAVE_MOVED,
  )
  return { problem, shown: payment && { payment, moved } }
}

function formerOffers(
  { offers }: Checkout,
  rows: readonly PaidRoute[],
  rails: readonly Rail[],
): readonly PaidRoute['offer'][] {
  const { name } = rows[0]!.offer.good
  const all = [...offers.values()].filter(({ good, rail }) => good.name === name && !rails.includes(rail))
  return all as unknown as readonly PaidRoute['offer'][]
}

/** What a tool of one price costs now, where clients look for it. The challenge decides: they keep a list for as long as they run. */
async function priceMeta(rows: readonly PaidRoute[]): Promise<JsonObject> {
  const { price } = rows[0]!.offer
  if (price.kind !== 'listed') return {}
  const now = formatUsd(await price.now())
  const rails = rows.map(({ offer }) => offer.rail)
  const keys = rails.flatMap(({ mcp }) => mcp.priceKey ?? [])
  return { ...paymentMeta(rails, now), ...Object.fromEntries(keys.map((key) => [key, Number(now)])) }
}

function paymentMeta(rails: readonly Rail[], price: string): JsonObject {
  return { 'sutler/payment': { protocols: rails.map(({ name }) => name), price } }
}

const NOTHING_SENT: Incoming = { header: () => undefined, meta: () => undefined }

/** Payments over MCP travel in `_meta` alone; headers belong to the connection, which may carry many calls. */
function incomingOf({ meta }: ToolCall): Incoming {
  return { header: () => undefined, meta: (key) => meta[key] }
}

/** The rail that the attached payment is of. Two payments could be read differently by us and by whoever stands between. */
function paidRail(rails: readonly Rail[], incoming: Incoming): Rail | null {
  const [first = null, second] = rails.filter((rail) => carries(rail, incoming))
  if (second) throw new McpError(CODE.invalidParams, 'Attach exactly one payment in _meta; none was looked at')
  return first
}

function carries(rail: Rail, incoming: Incoming): boolean {
  try {
    return rail.read(incoming) !== null
  } catch (error) {
    if (isProblem(error)) return true
    throw error
  }
}

/** Arguments that only one protocol can serve are offered on that one; when none can, they are told why. */
async function challengesOf(attempts: readonly (Challenged | Promise<Outcome>)[]): Promise<readonly Challenged[]> {
  const ends = await Promise.allSettled(attempts)
  const challenges = ends.flatMap((end) =>
    end.status === 'fulfilled' && end.value.kind === 'challenged' ? [end.value] : [],
  )
  const failure = ends.find((end) => end.status === 'rejected' && (challenges.length === 0 || !isProblem(end.reason)))
  if (failure?.status === 'rejected') throw failure.reason
  return challenges
}

const idempotencyKeyField = z
  .string()
  .regex(IDEMPOTENCY_KEY)
  .describe('Your own name for this purchase, 8 to 128 visible ASCII characters: the same key never buys twice')

function readInput(tool: ToolDescription, input: JsonObject): { request: JsonObject; idempotencyKey: string | null } {
  if (tool.effect !== 'spends') return { request: requestOfCall(tool, input), idempotencyKey: null }
  const { idempotencyKey, ...own } = input
  const key = parseWith(z.object({ idempotencyKey: idempotencyKeyField.optional() }), { idempotencyKey })
  return { request: requestOfCall(tool, own), idempotencyKey: key.idempotencyKey ?? null }
}

/** What is refused here has a payment with it that nobody has looked at. */
function readPaidInput(tool: ToolDescription, input: JsonObject): ReturnType<typeof readInput> {
  try {
    return readInput(tool, input)
  } catch (error) {
    throw isProblem(error) ? withoutClaim(error) : error
  }
}

function paidListing(tool: ToolDescription, rows: readonly PaidRoute[]) {
  const [row] = rows
  const { price } = row!.offer
  const inputSchema = mergedInputs(rows.map(({ body }) => inputSchemaOf(tool.input ?? body ?? noInput)))
  const rails = rows.map(({ offer }) => offer.rail)
  const challenges = rails.filter(({ mcp }) => mcp.contentKey !== null).map(({ documents }) => documents.challenge)
  return listingOf(tool, {
    inputSchema:
      tool.effect === 'spends' ? withArgument(inputSchema, 'idempotencyKey', idempotencyKeyField) : inputSchema,
    outputSchema: paidOutputSchema(row!.result, challenges),
    _meta: {
      ...paymentMeta(rails, price.kind === 'listed' ? 'listed' : 'quoted'),
      ...Object.assign({}, ...rails.map(({ mcp }) => mcp.toolMeta)),
    },
  })
}
