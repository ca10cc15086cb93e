import * as z from 'zod'
import { isoTime } from '../../base/clock.ts'
import { cursorOf, type Place, placeOf } from '../../base/cursor.ts'
import type { JsonObject } from '../../base/json.ts'
import { Problem } from '../../base/problem.ts'
import { addressField } from '../../domain/fields.ts'
import type { RailName } from '../../domain/rail.ts'
import type { Doer } from '../../store/deeds.ts'
import type { BlockedPayer, SalesPause } from '../../store/restrictions.ts'
import { type OperatorRoute, operator } from './route.ts'

type SalesDesk = {
  now(): number
  readonly rails: readonly RailName[]
  pauses(): Promise<readonly SalesPause[]>
  pause(doer: Doer, wish: Pick<SalesPause, 'rail' | 'reason' | 'until'>): Promise<SalesPause>
  resume(doer: Doer, rail: RailName): Promise<boolean>
  /** Those of the configuration, which nobody can change here. */
  readonly configured: readonly string[]
  blocked(after: Place | null, limit: number): Promise<readonly { blocked: BlockedPayer; place: Place }[]>
  block(doer: Doer, wish: { address: string; reason: string }): Promise<{ blocked: BlockedPayer; isNew: boolean }>
  unblock(doer: Doer, address: string): Promise<boolean>
}

const LIMIT = 50
const LIMIT_MAX = 500
const reason = z.string().trim().min(1).max(300)
const by = z.string().min(1).max(100).optional().describe('Who decided it')
const rail = z.strictObject({ rail: z.string().min(1).max(32) })

/** What is not sold because somebody says so: on a rail, or to a payer. What was paid for is delivered or sent back all the same. */
export function salesRows(desk: SalesDesk): readonly OperatorRoute[] {
  const known = (name: string): RailName => {
    if (desk.rails.includes(name)) return name
    throw new Problem('invalid_request', `Nothing is sold on ${name}; there are ${desk.rails.join(', ')}.`)
  }
  return [
    operator('GET /operator/sales', {
      role: 'viewer',
      summary: 'On which rails sales are paused, since when, by whom and why',
      handle: async () => {
        const pauses = (await desk.pauses()).map(presentPause)
        return { body: { rails: [...desk.rails], pauses, asOf: isoTime(desk.now()) } }
      },
    }),
    operator('POST /operator/sales/{rail}/pause', {
      role: 'admin',
      summary:
        'Sell nothing on a rail: refused before money, on every replica, until somebody resumes or the time has come',
      params: rail,
      body: z.strictObject({ reason, until: z.iso.datetime().optional(), by }),
      handle: async ({ params, body, doer }) => {
        const until = body.until === undefined ? null : Date.parse(body.until)
        if (until !== null && until <= desk.now())
          throw new Problem('invalid_request', 'That moment is over; nothing was paused.')
        return { body: presentPause(await desk.pause(doer, { rail: known(params.rail), reason: body.reason, until })) }
      },
    }),
    operator('POST /operator/sales/{rail}/resume', {
      role: 'admin',
      summary: 'Sell on it again',
      params: rail,
      body: z.strictObject({ by }),
      handle: async ({ params, doer }) => {
        const did = (await desk.resume(doer, known(params.rail))) ? 'resumed' : 'nothing'
        return { body: { rail: params.rail, did } }
      },
    }),
    ...blockRows(desk),
  ]
}

function blockRows(desk: SalesDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/blocks', {
      role: 'viewer',
      summary: 'Payers whom nothing is sold to, the newest first',
      query: z.strictObject({
        cursor: z.string().min(1).max(200).optional(),
        limit: z.coerce.number().int().min(1).max(LIMIT_MAX).default(LIMIT),
      }),
      handle: async ({ query: { cursor, limit } }) => {
        const found = await desk.blocked(cursor === undefined ? null : placeOf(cursor), limit + 1)
        const shown = found.slice(0, limit)
        const last = shown.at(-1)
        return {
          body: {
            blocks: shown.map(({ blocked }) => presentBlock(blocked)),
            configured: [...desk.configured],
            next: found.length > limit && last ? cursorOf(last.place) : null,
            asOf: isoTime(desk.now()),
          },
        }
      },
    }),
    operator('POST /operator/blocks', {
      role: 'admin',
      summary:
        'Sell nothing to a payer from now on; what they have paid for is delivered, and goes back only on a person’s word',
      body: z.strictObject({ address: addressField, reason, by }),
      handle: async ({ body: { address, reason }, doer }) => {
        const { blocked, isNew } = await desk.block(doer, { address, reason })
        return { status: isNew ? 201 : 200, body: { did: isNew ? 'blocked' : 'nothing', ...presentBlock(blocked) } }
      },
    }),
    operator('DELETE /operator/blocks/{address}', {
      role: 'admin',
      summary: 'Sell to them again',
      params: z.strictObject({ address: addressField }),
      handle: async ({ params, doer }) => {
        if (await desk.unblock(doer, params.address)) return { body: { did: 'unblocked', address: params.address } }
        if (!desk.configured.includes(params.address.toLowerCase()))
          return { body: { did: 'nothing', address: params.address } }
        throw new Problem(
          'invalid_request',
          'The configuration blocks this payer (SUTLER_BLOCKED_PAYERS); change it there.',
        )
      },
    }),
  ]
}

export function presentPause({ rail, reason, by, since, until }: SalesPause): JsonObject {
  return { rail, reason, by, since: isoTime(since), until: until === null ? null : isoTime(until) }
}

function presentBlock({ address, reason, by, at }: BlockedPayer): JsonObject {
  return { address, reason, by, at: isoTime(at) }
}
