import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'

// zod schemas as JSON Schema 2020-12, which OpenAPI 3.1, MCP and crawlers all read. What a server asks and what it prints is one
// definition.

/** What a route takes that takes nothing. */
export const noInput = z.strictObject({})

/** What a client sends, or what it gets. */
export type Direction = 'input' | 'output'

/** Complete in itself: not every reader follows references. Ours are never recursive. */
export function inlineSchema(schema: z.ZodType, io: Direction): JsonObject {
  // What JSON cannot say, such as a default that is a bigint, is left out.
  const {
    $schema: _dialect,
    $defs = {},
    ...root
  } = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as JsonObject
  return inlined(root, $defs as JsonObject) as JsonObject
}

function inlined(value: unknown, definitions: JsonObject): unknown {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions))
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...members } = value as JsonObject
  const named = typeof $ref === 'string' ? (definitions[$ref.replace('#/$defs/', '')] as JsonObject) : {}
  return Object.fromEntries(
    Object.entries({ ...named, ...members }).map(([key, member]) => [key, inlined(member, definitions)]),
  )
}

/** A schema that refers to those with an id of their own (`.meta({ id })`), and these by their id. */
type ReferringSchema = {
  readonly schema: JsonObject
  readonly components: Readonly<Record<string, JsonObject>>
}

const DEFINITION = '#/$defs/'
const COMPONENT = '#/components/schemas/'

/** Takes a millisecond or so: whatever is written again whenever a price changes has its schemas printed beforehand. */
export function referringSchema(schema: z.ZodType, io: Direction): ReferringSchema {
  // Inside another object, because a schema with an id is written out in full where it is the root.
  const wrapped = z.object({ it: schema })
  const override = io === 'output' ? opened : () => {}
  const text = JSON.stringify(z.toJSONSchema(wrapped, { io, override })).replaceAll(DEFINITION, COMPONENT)
  const { properties, $defs = {} } = JSON.parse(text) as {
    properties: { it: JsonObject }
    $defs?: Record<string, JsonObject>
  }
  return { schema: properties.it, components: $defs }
}

/** Replies may grow members (D11.1), so no document promises that they never do; nor does it bore with the bounds of a double. */
function opened({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: z.core.JSONSchema.BaseSchema }) {
  const { def } = zodSchema._zod
  if (def.type === 'object' && def.catchall === undefined) delete jsonSchema.additionalProperties
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}
