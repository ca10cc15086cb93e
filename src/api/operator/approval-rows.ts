import * as z from 'zod'
import { type Clock, isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { Problem } from '../../base/problem.ts'
import type { Operator } from '../../domain/operator.ts'
import type { Database } from '../../store/db.ts'
import type { Doer } from '../../store/deeds.ts'
import { type Approval, findApproval, listApprovals, refuseApproval } from '../../store/people/approvals.ts'
import { type OperatorRoute, operator } from './route.ts'

type ApprovalDesk = {
  readonly database: Database
  readonly clock: Clock
  /** Why this person cannot approve it; null: they can. */
  objectionTo(doer: Doer, approval: Approval): Promise<string | null>
  /** Carries out what was asked for. */
  approve(doer: Doer, approval: Approval): Promise<JsonObject>
}

const LIMIT = 200
const id = z.strictObject({ id: z.string().min(1).max(64) })

/** Refunds that need a second person. */
export function approvalRows({ database, clock, objectionTo, approve }: ApprovalDesk): readonly OperatorRoute[] {
  async function find(wanted: string): Promise<Approval> {
    const approval = await findApproval(database, wanted)
    if (!approval) throw new Problem('operator_not_found', `There is no request ${wanted}.`)
    return approval
  }
  return [
    operator('GET /operator/approvals', {
      role: 'viewer',
      summary: 'Refunds that wait for a second person, newest first; all that ever did with state=all',
      query: z.strictObject({ state: z.enum(['open', 'approved', 'refused', 'expired', 'all']).default('open') }),
      handle: async ({ query: { state }, doer }) => {
        const now = clock.now()
        const found = await listApprovals(database, { state: state === 'all' ? null : state, now, limit: LIMIT })
        const approvals: JsonObject[] = []
        for (const approval of found) {
          const objection = approval.state === 'open' ? await objectionTo(doer, approval) : null
          approvals.push(presentApproval(approval, doer, objection))
        }
        return { body: { approvals, next: null, asOf: isoTime(now) } }
      },
    }),
    operator('POST /operator/approvals/{id}/approve', {
      role: 'support',
      summary: 'Approve a refund that another operator asked for; it begins at once',
      params: id,
      handle: async ({ params, doer }) => {
        const approval = await find(params.id)
        const objection = await objectionTo(doer, approval)
        if (objection !== null) throw new Problem('approval_refused', `No money was sent. ${objection}`)
        const outcome = await approve(doer, approval)
        return { body: { approval: presentApproval(await find(params.id), doer, null), outcome } }
      },
    }),
    operator('POST /operator/approvals/{id}/refuse', {
      role: 'support',
      summary: 'Refuse it, or take back what you asked for yourself; no money is sent',
      params: id,
      body: z.strictObject({ reason: z.string().min(1).max(300).optional() }),
      handle: async ({ params, body, doer }) => {
        await find(params.id)
        if (!(await refuseApproval(database, doer, params.id, body.reason)))
          throw new Problem('approval_refused', 'It was decided already, or ran out. Nothing was done.')
        return { body: { approval: presentApproval(await find(params.id), doer, null) } }
      },
    }),
  ]
}

/** For whoever looks at it. */
export function presentApproval(
  { id, kind, about, request, amount, asked, expiresAt, state, decided }: Approval,
  { who, at }: { readonly who: Operator; readonly at: number },
  objection: string | null,
): JsonObject {
  const [type = '', action = ''] = kind.split('.')
  const isOpen = state === 'open' && expiresAt > at
  return {
    id,
    state: state === 'open' && !isOpen ? 'expired' : state,
    subject: { type, id: about },
    action,
    amount: formatUsd(usd(amount)),
    currency: request.currency ?? null,
    to: request.to ?? null,
    reason: request.reason ?? null,
    by: asked.name,
    askedBy: asked.id,
    isOwn: asked.id === who.id,
    at: isoTime(asked.at),
    expiresAt: isoTime(expiresAt),
    decidedBy: decided?.name ?? null,
    decidedAt: decided ? isoTime(decided.at) : null,
    can: { approve: { can: isOpen && objection === null, why: objection } },
  }
}
