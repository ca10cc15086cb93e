import type * as z from 'zod'
import type { JsonObject } from '../../base/json.ts'
import { type Direction, referringSchema } from '../facts/json-schema.ts'

/** Collects what an OpenAPI document refers to, so that each schema stands in it once, and none that nobody refers to. */
export type Components = {
  schema(schema: z.ZodType, io: Direction): JsonObject
  /** A reference to a response, header or parameter that is written down once. */
  shared(kind: SharedKind, name: string, write: () => JsonObject): JsonObject
  all(): JsonObject
}

type SharedKind = 'responses' | 'headers' | 'parameters' | 'securitySchemes'
type Section = Map<string, JsonObject>

export function createComponents(): Components {
  const schemas: Section = new Map()
  const sections: Record<SharedKind, Section> = {
    responses: new Map(),
    headers: new Map(),
    parameters: new Map(),
    securitySchemes: new Map(),
  }
  return {
    schema(schema, io) {
      const printed = referringSchema(schema, io)
      for (const [id, component] of Object.entries(printed.components)) {
        const known = schemas.get(id)
        if (known && JSON.stringify(known) !== JSON.stringify(component))
          throw new TypeError(`two schemas have the id ${id}`)
        schemas.set(id, component)
      }
      return printed.schema
    },
    shared(kind, name, write) {
      if (!sections[kind].has(name)) sections[kind].set(name, write())
      return { $ref: `#/components/${kind}/${name}` }
    },
    all() {
      const all = [['schemas', schemas] as const, ...Object.entries(sections)]
      return Object.fromEntries(
        all.filter(([, section]) => section.size > 0).map(([kind, section]) => [kind, sorted(section)]),
      )
    },
  }
}

function sorted(section: Section): JsonObject {
  return Object.fromEntries([...section].toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
