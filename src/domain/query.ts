import * as z from 'zod'
import { once } from '../base/once.ts'

/** A query string has only texts; fields that are whole numbers in the body are so here too. */
export function asQuery<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
): z.ZodType<z.output<z.ZodObject<Shape>>> {
  // Asked of each field only when somebody calls: a shop has some sixty queries, and starts without them.
  const numeric = once(
    () => new Set(Object.entries(schema.shape).flatMap(([key, field]) => (isWhole(field as z.ZodType) ? [key] : []))),
  )
  const convert = (value: unknown) => {
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, text]) => [
        key,
        numeric().has(key) && /^-?\d{1,15}$/.test(String(text)) ? Number(text) : text,
      ]),
    )
  }
  return z.preprocess(convert, schema) as unknown as z.ZodType<z.output<z.ZodObject<Shape>>>
}

function isWhole(field: z.ZodType): boolean {
  const { type, format } = z.toJSONSchema(field, { io: 'input', unrepresentable: 'any' }) as {
    type?: string
    format?: string
  }
  return type === 'integer' || format === 'int64'
}
