import * as z from 'zod'
import type { Jwks } from '../../base/jws.ts'
import { free, type Route } from '../../domain/route.ts'

export type HealthCheck = {
  readonly name: string
  /** `warn`: it works, and somebody should look. `fail`: whatever needs it cannot be sold. */
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
}

/** Can a family of goods be sold by a protocol now, and if not, why? */
export type Selling = {
  readonly surface: string
  readonly rail: string
  readonly isUp: boolean
  /** It is not sold because somebody said so; nothing is wrong with it. */
  readonly isPaused: boolean
  readonly reasons: readonly string[]
}

export type Health = {
  readonly checks: readonly HealthCheck[]
  readonly sells: readonly Selling[]
  /** About to stop: whoever sends requests should send them elsewhere. */
  readonly isLeaving: boolean
}

const checkSchema = z.object({ name: z.string(), status: z.enum(['ok', 'warn', 'fail']), detail: z.string() })
const sellingSchema = z.object({
  surface: z.string(),
  protocol: z.string(),
  status: z.enum(['up', 'down']),
  reasons: z.array(z.string()).describe('What stands against it; empty when it can be sold'),
})

const readinessSchema = z
  .object({
    status: z.enum(['ready', 'degraded', 'unready']),
    checks: z.array(checkSchema),
    sells: z.array(sellingSchema).describe('Each family of goods on each protocol'),
  })
  .meta({ id: 'Readiness', description: 'Can this process sell, what, and what stands against the rest?' })

const jwksSchema = z
  .object({
    keys: z.array(
      z.object({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        x: z.string(),
        y: z.string(),
        kid: z.string(),
        alg: z.literal('ES256'),
        use: z.literal('sig'),
      }),
    ),
  })
  .meta({ id: 'Jwks', description: 'Keys that delivery receipts are signed with, the retired ones included' })

/** Nothing of what these answer is secret: no address and no sum is named. */
export function healthRows(health: () => Promise<Health>, jwks: Jwks): readonly Route[] {
  return [
    free('GET /health/live', {
      host: 'both',
      summary: 'Does the process answer?',
      bucket: null,
      isVital: true,
      result: z.object({ status: z.literal('alive') }),
      handle: async () => ({ body: { status: 'alive' } }),
    }),
    free('GET /health/ready', {
      host: 'both',
      summary: 'Can the shop sell right now, and if not, why?',
      bucket: null,
      result: readinessSchema,
      statuses: [503],
      handle: async () => {
        const found = await health()
        const status = readinessOf(found)
        const checks = found.checks.map((check) => ({ ...check }))
        const sells = found.sells.map(({ surface, rail, isUp, reasons }) => ({
          surface,
          protocol: rail,
          status: isUp ? 'up' : 'down',
          reasons: [...reasons],
        }))
        return { status: status === 'unready' ? 503 : 200, body: { status, checks, sells } }
      },
    }),
    free('GET /.well-known/jwks.json', {
      host: 'both',
      summary: 'Keys that delivery receipts are signed with',
      cache: { maxAgeSeconds: 300 },
      result: jwksSchema,
      handle: async () => ({ body: { keys: jwks.keys.map((key) => ({ ...key })) } }),
    }),
  ]
}

/** A proxy that takes a shop away which still sells something would do more harm than what is down. */
function readinessOf({ checks, sells, isLeaving }: Health): 'ready' | 'degraded' | 'unready' {
  // A pause is meant: whoever bought still asks, and whoever paused must be able to resume.
  const sellsNothing = sells.length > 0 && sells.every(({ isUp, isPaused }) => !isUp && !isPaused)
  if (isLeaving || sellsNothing) return 'unready'
  const isWell = checks.every(({ status }) => status === 'ok') && sells.every(({ isUp }) => isUp)
  return isWell ? 'ready' : 'degraded'
}
