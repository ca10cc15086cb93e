import * as z from 'zod'
import type { Random } from '../../base/id.ts'
import { canonical, type JsonObject } from '../../base/json.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import type { Outcome } from '../../checkout/answer.ts'
import type { Checkout } from '../../checkout/checkout.ts'
import { withoutClaim } from '../../checkout/paid-words.ts'
import { purchase, refuse } from '../../checkout/purchase.ts'
import { unsure } from '../../checkout/refusal.ts'
import type { Challenger, Incoming, Rail, Resource } from '../../domain/rail.ts'
import type { PaidRoute } from '../../domain/route.ts'
import type { ToolDescription } from '../../domain/tool-description.ts'
import { noInput } from '../facts/json-schema.ts'
import { railsOf, shownTo } from '../gate/misplaced-payment.ts'
import type { PaymentGate } from '../gate/payment-gate.ts'
import type { RateLimiter } from '../gate/rate-limit.ts'
import { parseWith } from '../http/parse.ts'
import { flowIdOf } from '../http/request.ts'
import { requestOfCall } from './free-tool.ts'
import { createOutcomeResults } from './outcome-result.ts'
import { idempotencyKeyField, paidListing, priceMeta } from './paid-listing.ts'
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

/** A good with all the rails it is offered on, a row for each: all that stays the same from call to call. */
type OfferedTool = {
  readonly tool: ToolDescription
  readonly options: PaidToolOptions
  readonly resource: Resource
  readonly sold: readonly Sold[]
  /** Whoever may know a payment that is attached, switched on or not. */
  readonly readers: readonly Rail[]
  readonly httpCalls: readonly string[]
  readonly outcomeResult: ReturnType<typeof createOutcomeResults>
}

/** One call: what it carries and what it asks for. */
type Asked = {
  readonly call: ToolCall
  readonly incoming: Incoming
  readonly input: JsonObject
  /** Bound to the tool and to these arguments, a challenge buys nothing else. What is empty binds nothing, as over HTTP. */
  readonly body: Buffer | null
  readonly idempotencyKey: string | null
  readonly flowId: string
}

/** Sold by the very `purchase` that sells it over HTTP. */
export function paidTool(tool: ToolDescription, rows: readonly PaidRoute[], options: PaidToolOptions): McpTool {
  const { checkout, problemResult, rails } = options
  const resource = { url: `mcp://tool/${tool.name}`, scope: `MCP ${tool.name}`, description: rows[0]!.summary }
  const offered: OfferedTool = {
    tool,
    options,
    resource,
    sold: rows.map((row) => ({ ...row, challenge: row.offer.rail.challenger(resource) })),
    readers: [...rails, ...railsOf(checkout)],
    httpCalls: rows.map(({ method, offer, path }) => `${method} ${offer.rail.baseUrl}${path}`),
    outcomeResult: createOutcomeResults(tool.pollWith ?? 'get_purchase_status', problemResult),
  }
  return {
    name: tool.name,
    listing: () => paidListing(tool, rows),
    priceMeta: () => priceMeta(rows),
    call: (input, call) => serve(offered, input, call),
  }
}

async function serve(offered: OfferedTool, given: JsonObject, call: ToolCall): Promise<ToolResult> {
  const { tool, options, sold, readers } = offered
  const { limiter, random, rails } = options
  const incoming = incomingOf(call)
  // Nothing may be sold by a protocol any more, and yet money has come by it.
  const paidOn = paidRail(rails, incoming) ?? readers.find((rail) => carries(rail, incoming)) ?? null
  if (!paidOn && sold.some(({ isRateLimited }) => isRateLimited)) limiter.take('unpaid', call.http)
  const { input, idempotencyKey } = paidOn ? readPaidInput(tool, given) : readInput(tool, given)
  const body = Object.keys(input).length === 0 ? null : Buffer.from(canonical(input))
  const asked: Asked = { call, incoming, input, body, idempotencyKey, flowId: flowIdOf(call.http, random) }
  return paidOn ? sell(offered, asked, paidOn) : demand(offered, asked, null)
}

async function sell(offered: OfferedTool, asked: Asked, paidOn: Rail): Promise<ToolResult> {
  const { options, sold, readers, outcomeResult } = offered
  const { checkout, paymentGate } = options
  const { call, incoming } = asked
  const taker = sold.find(({ offer }) => offer.rail === paidOn)
  const row = taker ?? sold[0]!
  const buy = () =>
    taker
      ? purchase(checkout, taker.offer, requestOf(offered, asked, taker))
      : refuse(checkout, row.offer, unpaidRequestOf(offered, asked, row), untakenBy(paidOn, readers, incoming))
  try {
    const outcome = await paymentGate.admit(call.http, { route: row, incoming }, buy)
    if (outcome.kind !== 'challenged') return outcomeResult(outcome, paidOn, call)
    return await demand(offered, asked, outcome.problem, { row, outcome })
  } catch (error) {
    // Over HTTP this is a 400. Over MCP what cannot be read is answered like any other refused payment: one protocol's transport wants it.
    if (!isProblem(error, 'payment_payload_invalid') || error.status !== 400 || error.extra.taken === 'unknown')
      throw error
    return demand(offered, asked, error).catch((failure: unknown) => {
      // Where nothing is sold nobody is asked for another one, and what could not be read was not looked for.
      throw isProblem(failure) && failure.status < 500 ? failure : unsure(failure, false)
    })
  }
}

/** Payment required: a challenge of each rail, by what was refused or, where nothing was, by asking without a payment. */
async function demand(
  offered: OfferedTool,
  asked: Asked,
  refusal: Problem | null,
  refused?: { readonly row: Sold; readonly outcome: Challenged },
): Promise<ToolResult> {
  const { options, sold, httpCalls, resource } = offered
  const { checkout, rails } = options
  const challenges = await challengesOf(
    sold.map((row) =>
      row === refused?.row ? refused.outcome : purchase(checkout, row.offer, unpaidRequestOf(offered, asked, row)),
    ),
  )
  const summary = resource.description
  return paymentRequired({ challenges, refusal, rails, summary, httpCalls }, asked.call)
}

function requestOf({ options, resource }: OfferedTool, asked: Asked, { challenge, body: schema }: Sold) {
  const { call, incoming, input, body, idempotencyKey, flowId } = asked
  return {
    resource,
    challenge,
    incoming,
    client: options.limiter.clientOf(call.http),
    body,
    bodyIsBound: true,
    isProbe: false,
    parse: () => parseWith(schema ?? noInput, input),
    flowId,
    idempotencyKey,
  }
}

function unpaidRequestOf(offered: OfferedTool, asked: Asked, row: Sold) {
  return requestOf(offered, { ...asked, incoming: NOTHING_SENT }, row)
}

/** What this tool does not take, or does not take any more. */
function untakenBy({ name, label }: Rail, readers: readonly Rail[], incoming: Incoming) {
  const problem = new Problem('payment_misplaced', `This tool takes no payment by ${label}.`)
  const theirs = readers.filter((rail) => rail.name === name)
  return { problem, shown: shownTo(theirs, incoming) }
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

function readInput(tool: ToolDescription, given: JsonObject): Pick<Asked, 'input' | 'idempotencyKey'> {
  if (tool.effect !== 'spends') return { input: requestOfCall(tool, given), idempotencyKey: null }
  const { idempotencyKey, ...own } = given
  const key = parseWith(z.object({ idempotencyKey: idempotencyKeyField.optional() }), { idempotencyKey })
  return { input: requestOfCall(tool, own), idempotencyKey: key.idempotencyKey ?? null }
}

/** What is refused here has a payment with it that nobody has looked at. */
function readPaidInput(tool: ToolDescription, given: JsonObject): ReturnType<typeof readInput> {
  try {
    return readInput(tool, given)
  } catch (error) {
    throw isProblem(error) ? withoutClaim(error) : error
  }
}
