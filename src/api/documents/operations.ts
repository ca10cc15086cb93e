import type * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { IDEMPOTENCY_KEY } from '../../domain/fields.ts'
import type { FreeRoute, PaidRoute, Route } from '../../domain/route.ts'
import { exampleNow } from '../facts/example.ts'
import type { Facts, PricedRoute } from '../facts/facts.ts'
import { inlineSchema, noInput } from '../facts/json-schema.ts'
import { paymentInfo } from '../facts/payment-info.ts'
import { type Answers, exampleOf } from './answers.ts'
import type { Components } from './components.ts'
import { content, freeResponses, JSON_TYPE, paidResponses, paymentSecurity } from './responses.ts'

/** A row that sells, as an OpenAPI operation: all of it but its price is printed at once. */
export function paidOperation(
  components: Components,
  route: PaidRoute,
  { config }: Facts,
  answers: Answers,
): (facts: Facts, priced: PricedRoute) => JsonObject {
  const { rail } = route.offer
  const probe = route.hasPriceProbe ? ' A GET on this path tells the price and never sells.' : ''
  const above = {
    ...common(route),
    description: `${route.description}${probe}`,
    // The unpaid call is how the price is learned: gateways that obey the contract must let it through.
    security: [paymentSecurity(components, rail), {}],
  }
  const parameters = callHeaders(components)
  const bodyWith = route.method === 'GET' ? () => ({}) : paidBody(components, route)
  const below = {
    responses: paidResponses(components, {
      rail,
      key: keyOf(route),
      result: route.result,
      isRateLimited: route.isRateLimited,
      answers,
    }),
  }
  return (facts, priced) => ({
    ...above,
    'x-payment-info': paymentInfo(priced, config.limits.quantityMax),
    parameters,
    ...bodyWith(exampleNow(facts, route)),
    ...below,
  })
}

function paidBody(components: Components, { body }: PaidRoute): (example: JsonObject) => JsonObject {
  const schema = components.schema(body ?? noInput, 'input')
  // Empty is a question for the price, which is why it may be left out.
  return (example) => ({ requestBody: { required: false, ...content(schema, JSON_TYPE, { example }) } })
}

/** A row that costs nothing, as an OpenAPI operation. */
export function freeOperation(components: Components, route: FreeRoute, answers: Answers): JsonObject {
  const { params, query, body, example, statuses, bucket } = route
  const parameters = [...parametersIn('path', params), ...parametersIn('query', query, example ?? {})]
  return {
    ...common(route),
    description: route.description,
    security: [],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body
      ? {
          requestBody: {
            required: true,
            ...content(components.schema(body, 'input'), JSON_TYPE, example ? { example } : {}),
          },
        }
      : {}),
    responses: freeResponses(components, {
      answerTo: answersOf(components, route, answers),
      statuses,
      takesParameters: params !== null || query !== null || body !== null,
      isCounted: bucket !== null,
      answers,
    }),
  }
}

/** A page that is data as well (`/errors`) comes in whichever form is asked for. */
function answersOf(components: Components, route: FreeRoute, answers: Answers): (status: number) => JsonObject {
  const { contentType, result } = route
  const mediaType = contentType.split(';')[0]!
  const example = (status: number) => exampleOf(answers, keyOf(route), status)
  // Rows of the sandbox say in words what they answer.
  const told = mediaType === JSON_TYPE ? {} : { type: 'string' }
  if (!result) return (status) => content(told, mediaType, example(status))
  const schema = components.schema(result, 'output')
  if (mediaType !== 'text/html') return (status) => content(schema, mediaType, example(status))
  return (status) => ({
    content: { [JSON_TYPE]: { schema, ...example(status) }, [mediaType]: { schema: { type: 'string' } } },
  })
}

function keyOf({ method, path }: Pick<Route, 'method' | 'path'>): string {
  return `${method} ${path}`
}

function common(route: Route): JsonObject {
  return { operationId: operationId(route), tags: [tagOf(route)], summary: route.summary }
}

/** `GET /craft/tab/actions/{paymentTx}` is `getCraftTabActionsByPaymentTx`: never written by hand, so never twice the same. */
export function operationId({ method, path }: { readonly method: string; readonly path: string }): string {
  const words = path
    .split('/')
    .flatMap((segment) => (segment.startsWith('{') ? ['by', segment.slice(1, -1)] : segment.split(/[^A-Za-z0-9]+/)))
    .filter((word) => word !== '')
  return [method.toLowerCase(), ...(words.length === 0 ? ['home'] : words)].reduce(
    (id, word) => id + word[0]!.toUpperCase() + word.slice(1),
  )
}

export function tagOf({ surface, path }: Route): string {
  if (surface) return surface
  if (path.startsWith('/health')) return 'health'
  return path.startsWith('/payments') || path === '/errors' ? 'recovery' : 'discovery'
}

/** Each family of goods, then what all have in common. */
export function tagsOf({ surfaces }: Facts): Readonly<Record<string, string>> {
  return { ...Object.fromEntries(surfaces.map(({ name, title }) => [name, title])), ...commonTags }
}

const commonTags = {
  recovery: 'What became of a payment, and what to do about an error',
  discovery: 'What this shop sells and how it describes itself',
  health: 'Can it sell right now?',
  mcp: 'The shop as tools for a model',
  webhooks: 'What receivers are told',
} as const

/** Each property of an object schema is a parameter of its own. What binds them together stands in the description of the row. */
export function parametersIn(
  place: 'path' | 'query',
  schema: z.ZodType | null,
  examples: JsonObject = {},
): readonly JsonObject[] {
  if (!schema) return []
  const { properties = {}, required = [] } = inlineSchema(schema, 'input')
  return Object.entries(properties as Record<string, JsonObject>).map(([name, { description, ...rest }]) => ({
    name,
    in: place,
    required: place === 'path' || (required as readonly string[]).includes(name),
    ...(description === undefined ? {} : { description }),
    schema: rest,
    ...(name in examples ? { example: examples[name]! } : {}),
  }))
}

function callHeaders(components: Components): readonly JsonObject[] {
  return [
    headerParameter(components, 'Idempotency-Key', {
      description: 'Your own name for this purchase: the same key never buys twice',
      schema: { type: 'string', pattern: IDEMPOTENCY_KEY.source },
    }),
    headerParameter(components, 'X-Flow-Id', {
      description: 'Your own name for the conversation; it comes back in every answer',
      schema: { type: 'string', maxLength: 128 },
    }),
  ]
}

function headerParameter(components: Components, name: string, members: JsonObject): JsonObject {
  return components.shared('parameters', name, () => ({ name, in: 'header', required: false, ...members }))
}
