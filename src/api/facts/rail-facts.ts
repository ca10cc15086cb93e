import type { JsonObject } from '../../base/json.ts'
import { formatUsd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { Rail } from '../../domain/rail.ts'
import type { RailFacts, SoldRoute } from '../../domain/rail-documents.ts'
import type { PaidRoute } from '../../domain/route.ts'
import { resourceOf } from '../shop/paid-handler.ts'
import { STATUS_SECONDS } from '../shop/purchase-status.ts'
import { exampleNow } from './example.ts'
import { type Facts, lowestPrice, type PricedRoute } from './facts.ts'
import { protocolWords, tagline } from './guidance.ts'
import { inlineSchema, noInput } from './json-schema.ts'
import { paymentInfo } from './payment-info.ts'

/** What a rail writes its own documents from. */
export function railFacts(facts: Facts, rail: Rail): RailFacts {
  const { origin, config, proofs, since, mcpUrl, sandboxUrl, paid } = facts
  return {
    origin,
    serviceName: config.service.name,
    tagline: tagline(facts),
    protocols: protocolWords(facts),
    proofs,
    since,
    mcpUrl,
    sandboxUrl,
    answerSeconds: config.limits.waitMsMax / 1000,
    statusSeconds: STATUS_SECONDS,
    sold: paid.filter(({ route }) => route.offer.rail === rail).map((priced) => soldRoute(facts, priced)),
  }
}

function soldRoute(facts: Facts, priced: PricedRoute): SoldRoute {
  const { route } = priced
  const { method, path, surface, summary, description, tools } = route
  const example = exampleNow(facts, route)
  const { limits } = facts.config
  return {
    method,
    path,
    url: resourceOf(route).url,
    surface,
    summary,
    description,
    example,
    cost: costOf(facts, route, example),
    tool: tools[0]?.name,
    deliverySeconds: facts.surfaces.find(({ name }) => name === surface)!.deliveryMs(limits) / 1000,
    input: () => inlineSchema(route.body ?? noInput, 'input'),
    paymentInfo: () => paymentInfo(priced, limits.quantityMax),
    challenge: () => challengeOf(priced),
  }
}

/** What an empty call of this route is answered with; null when nothing is on its shelf. */
function challengeOf(priced: PricedRoute): JsonObject | null {
  const price = lowestPrice(priced)
  if (price === null) return null
  const { route } = priced
  const resource = resourceOf(route)
  const terms = { price, resource, body: null, bodyIsBound: route.bodyIsBound, flowId: '' }
  const { members } = route.offer.rail.challenger(resource)(terms, new Problem('payment_required', 'Payment required.'))
  return JSON.parse(`{${members}}`) as JsonObject
}

function costOf({ items, paid }: Facts, route: PaidRoute, example: JsonObject): string | null {
  const { surface, idField } = route
  const fixed = paid.find((priced) => priced.route === route)?.amount ?? null
  if (fixed !== null) return formatUsd(fixed)
  const wanted = idField === null ? '' : String(example[idField])
  return items.find((item) => item.surface === surface && item.id === wanted)?.price.amount ?? null
}
