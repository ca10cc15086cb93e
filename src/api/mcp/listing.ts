import * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import type { ToolDescription } from '../../domain/tool-description.ts'
import { inlineSchema } from '../facts/json-schema.ts'

type Effect = ToolDescription['effect']

/**
 * Hosts skip the confirmation of a tool that only reads, and may repeat an idempotent one by themselves: nothing that costs money says
 * either of itself.
 */
const HINTS: Readonly<Record<Effect, JsonObject>> = {
  reads: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  costs: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  spends: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
}

type Schemas = { readonly inputSchema: JsonObject; readonly outputSchema?: JsonObject; readonly _meta?: JsonObject }

/** A tool as `tools/list` prints it. */
export function listingOf(
  { name, title, description, effect }: Omit<ToolDescription, 'input' | 'request'>,
  schemas: Schemas,
) {
  return { name, title, description, ...schemas, annotations: { title, ...HINTS[effect] } }
}

/** No union at the root: several model vendors refuse such a tool, and one host then drops the whole list. The code checks the rule. */
export function inputSchemaOf(schema: z.ZodType): JsonObject {
  const { oneOf: _oneOf, anyOf: _anyOf, allOf: _allOf, ...plain } = inlineSchema(schema, 'input')
  return asObject(plain)
}

/** Nobody hands these to a model vendor, so a union is fine here, as long as it says that it is of objects. */
export function outputSchemaOf(schema: z.ZodType): JsonObject {
  const whole = inlineSchema(schema, 'output')
  return asObject('oneOf' in whole || 'anyOf' in whole ? { type: 'object', ...whole } : whole)
}

/** Where the rails of a tool take different requests, their arguments side by side; which go together is for each request to say. */
export function mergedInputs(schemas: readonly JsonObject[]): JsonObject {
  const required = schemas.map((schema) => (schema['required'] ?? []) as readonly string[])
  return {
    ...schemas[0],
    properties: Object.assign({}, ...schemas.map(({ properties }) => properties)),
    required: required[0]!.filter((name) => required.every((names) => names.includes(name))),
  }
}

/** One more argument that is no part of the request itself. */
export function withArgument(schema: JsonObject, name: string, field: z.ZodType): JsonObject {
  return { ...schema, properties: { ...(schema['properties'] as JsonObject), [name]: inlineSchema(field, 'input') } }
}

function asObject(schema: JsonObject): JsonObject {
  if (schema['type'] !== 'object') throw new TypeError('the schema of a tool has an object at its root')
  return schema
}

/**
 * What a paid tool may answer. Clients of an older SDK hold even an error's content against it, so the challenge has a branch, and so has a
 * purchase that is told to somebody who is not its buyer, or that was sent back.
 */
export function paidOutputSchema(result: z.ZodType, challenges: readonly z.ZodType[]): JsonObject {
  const told = z
    .looseObject({
      status: z.string().describe('How far it is'),
      next: z.looseObject({ tool: z.string() }).exactOptional().describe('The tool that tells how it goes on'),
    })
    .describe('A purchase that is still moving, or was sent back')
  const branches = [result, ...challenges, told].map((schema) => opened(inlineSchema(schema, 'output')) as JsonObject)
  return { type: 'object', anyOf: branches }
}

/** Answers may grow members. */
function opened(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(opened)
  if (typeof value !== 'object' || value === null) return value
  const { additionalProperties, ...rest } = value as JsonObject
  const members = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, opened(member)]))
  return additionalProperties === undefined || additionalProperties === false
    ? members
    : { ...members, additionalProperties: opened(additionalProperties) }
}
