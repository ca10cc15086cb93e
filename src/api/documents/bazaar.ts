import type { JsonObject } from '../../base/json.ts'
import { purchaseFields } from '../../domain/purchase-fields.ts'
import type { PaidRoute } from '../../domain/route.ts'
import { inlineSchema } from '../facts/json-schema.ts'

const STRING = { type: 'string' }

/**
 * How crawlers learn to call an operation: the `bazaar` extension of its 402. It travels in a header, which some clients cut at
 * 8 KB, and comes back in the payment: so the answer is outlined, by the names and types of the members that only this good has.
 */
export function bazaarOf(route: Omit<PaidRoute, 'discovery'>): JsonObject {
  const { method, body, example, result, offer } = route
  const isQuery = method === 'GET'
  const place = isQuery ? 'queryParams' : 'body'
  const input = body ? inlineSchema(body, 'input') : { type: 'object', properties: {}, additionalProperties: false }
  return {
    info: {
      input: { type: 'http', method, ...(isQuery ? {} : { bodyType: 'json' }), [place]: example },
      output: { type: 'json', example: { status: 'confirmed', protocol: offer.rail.name } },
    },
    schema: {
      type: 'object',
      properties: {
        input: {
          type: 'object',
          properties: {
            type: { ...STRING, const: 'http' },
            method: { ...STRING, enum: [method] },
            ...(isQuery ? {} : { bodyType: { ...STRING, enum: ['json'] } }),
            [place]: input,
          },
          required: ['type', 'method', ...(isQuery ? [] : ['bodyType']), place],
          additionalProperties: false,
        },
        output: {
          type: 'object',
          properties: { type: STRING, example: outline(inlineSchema(result, 'output')) },
          required: ['type'],
        },
      },
      required: ['input'],
    },
  }
}

function outline({ properties = {} }: JsonObject): JsonObject {
  const members = Object.entries(properties as Record<string, JsonObject>).filter(
    ([name]) => name === 'status' || !(name in purchaseFields),
  )
  return {
    type: 'object',
    properties: Object.fromEntries(members.map(([name, { type }]) => [name, type === undefined ? {} : { type }])),
  }
}
