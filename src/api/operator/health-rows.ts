import * as z from 'zod'
import type { Jwks } from '../../base/jws.ts'
import { free, type Route } from '../../domain/route.ts'

export type HealthCheck = {
  readonly name: string
  /** `warn`: it works, and somebody should look. `fail`: nothing can be sold. */
  readonly status: 'ok' | 'warn' | 'fail'
  readonly detail: string
}

const checkSchema = z.object({ name: z.string(), status: z.enum(['ok', 'warn', 'fail']), detail: z.string() })

const readinessSchema = z
  .object({ status: z.enum(['ready', 'degraded', 'unready']), checks: z.array(checkSchema) })
  .meta({ id: 'Readiness', description: 'Can this process sell, and what stands against it?' })

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
export function healthRows(health: () => Promise<readonly HealthCheck[]>, jwks: Jwks): readonly Route[] {
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
        const checks = await health()
        const has = (status: HealthCheck['status']) => checks.some((check) => check.status === status)
        const status = has('fail') ? 'unready' : has('warn') ? 'degraded' : 'ready'
        return {
          status: status === 'unready' ? 503 : 200,
          body: { status, checks: checks.map((check) => ({ ...check })) },
        }
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
