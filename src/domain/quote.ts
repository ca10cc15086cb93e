import * as z from 'zod'
import type { JsonObject } from '../base/json.ts'
import { formatUsd } from '../base/money.ts'
import { isProblem } from '../base/problem.ts'
import type { Finding } from './good.ts'
import type { Offer } from './offer.ts'
import { priceOf } from './price.ts'
import { railNameSchema } from './rail.ts'

export const quoteSchema = z
  .object({
    executable: z.boolean().describe('Would this request be delivered if it were paid now?'),
    surface: z.string(),
    protocol: railNameSchema,
    request: z.looseObject({}).describe('The request with its defaults'),
    price: z.object({ amount: z.string(), currency: z.string(), atomic: z.string() }).nullable(),
    checks: z.array(
      z.object({
        check: z.string(),
        ok: z.boolean(),
        code: z.string().nullable(),
        detail: z.string().nullable(),
        fix: z
          .object({ to: z.string(), data: z.string(), description: z.string() })
          .nullable()
          .describe('A transaction the user can sign to mend it'),
      }),
    ),
    next: z
      .object({ method: z.string(), url: z.string(), body: z.looseObject({}) })
      .nullable()
      .describe('The paid call'),
  })
  .meta({ id: 'Quote', description: 'A free check: price, availability, and every reason why not' })

/** Runs the very check that the paid route runs, and tells all it found. Nothing is held and nobody pays. */
export async function quote<Input extends JsonObject>(
  offer: Offer<Input>,
  input: Input,
  purchaseUrl: string,
): Promise<{ readonly body: JsonObject }> {
  const { good, rail } = offer
  const priced = await pricedBy(offer, input)
  const { findings } = await good.check(input, null)
  const all: Finding[] =
    priced.finding && !findings.some(({ problem }) => problem?.code === priced.finding?.problem?.code)
      ? [priced.finding, ...findings]
      : [...findings]
  const uncovered = priced.price === null ? null : await offer.uncovered(priced.price)
  if (uncovered) all.push({ check: 'float', problem: uncovered })
  const executable = all.every(({ problem }) => problem === null)
  return {
    body: {
      executable,
      surface: good.surface,
      protocol: rail.name,
      request: input,
      price:
        priced.price === null
          ? null
          : { amount: formatUsd(priced.price), currency: rail.currency, atomic: priced.price.toString() },
      checks: all.map(shown),
      next: executable ? { method: 'POST', url: purchaseUrl, body: input } : null,
    },
  }
}

async function pricedBy<Input>({ price }: Offer<Input>, input: Input) {
  try {
    return { price: await priceOf(price, input), finding: null }
  } catch (error) {
    if (!isProblem(error) || error.status >= 500) throw error
    return { price: null, finding: { check: 'price', problem: error } satisfies Finding }
  }
}

function shown({ check, problem, fix }: Finding): JsonObject {
  return {
    check,
    ok: problem === null,
    code: problem?.code ?? null,
    detail: problem?.message ?? null,
    fix: fix ? { ...fix } : null,
  }
}
