import { presentApproval } from '../api/operator/approval-rows.ts'
import { formatUsd, usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import type { Config } from '../config/config.ts'
import { FIRST_ADMIN, mayAct, type Role } from '../domain/operator.ts'
import type { Alongside, Database, Queryable, Transaction } from '../store/db.ts'
import { type Deed, type Doer, recordDeeds } from '../store/deeds.ts'
import { type Approval, aboutApproval, askApproval, decideApproval } from '../store/people/approvals.ts'
import { findPerson, lockPerson } from '../store/people/operators.ts'
import { spend } from '../store/people/spending.ts'
import { areTied } from '../store/people/tokens.ts'

/** Money that somebody wants to give back. */
type RefundWish = Pick<Approval, 'kind' | 'about' | 'request' | 'amount'>

type GuardParts = { readonly config: Config; readonly database: Database }

const DAY_MS = 86_400_000

/**
 * What is written with a refund that somebody decided: whose budget it comes from, who approved it, whose deed it was. Throws where a
 * second person has to be asked first, and then nothing was sent; what it returns throws where the budget is used up, or somebody was
 * faster, and then the refund does not begin.
 */
export async function guardRefund(
  parts: GuardParts,
  doer: Doer,
  wish: RefundWish,
  { deed, approval }: { readonly deed: Deed; readonly approval: Approval | undefined },
): Promise<Alongside> {
  const { secondPersonFrom, supportRefundsPerDay: perDay } = parts.config.operators
  if (!approval && secondPersonFrom !== null && wish.amount >= secondPersonFrom)
    throw asked(doer, await askApproval(parts.database, doer, wish))
  return async (tx) => {
    const spender = approval ? await approve(tx, doer, approval) : spenderOf(doer.who)
    if (spender !== null) {
      const { about, amount } = wish
      const left = await spend(tx, { operatorId: spender, about, amount, perDay, at: doer.at })
      if (left !== null) throw usedUp(left, spender === doer.who.id)
    }
    await recordDeeds(tx, doer, approval ? [approved(approval), { ...deed, after: withAsker(deed, approval) }] : [deed])
  }
}

/** What whoever asks must be, then and when it is carried out: as the routes that ask for it say. */
const NEEDED: Readonly<Record<Approval['kind'], Role>> = {
  'order.refund': 'support',
  'order.decide': 'support',
  'transfer.refund': 'admin',
}

/** Support spends from a budget; an admin's word needs none. */
function spenderOf({ id, role }: { readonly id: string; readonly role: Role }): string | null {
  return mayAct(role, 'admin') ? null : id
}

/** Whose budget it comes from. Between two of support it is that of the one who asked. */
async function approve(tx: Transaction, doer: Doer, approval: Approval): Promise<string | null> {
  // Nobody is demoted or revoked between this look and the money.
  const [asker, approver] = [await lockedRole(tx, approval.asked), await lockedRole(tx, doer.who)]
  if (!mayAct(approver, 'support')) throw refused('You may not approve anything any more.')
  const objection = await objectionTo(tx, doer, approval)
  if (objection !== null) throw refused(objection)
  if (!(await decideApproval(tx, doer, approval.id, 'approved')))
    throw refused('Somebody decided about it a moment ago.')
  return mayAct(doer.who.role, 'admin') || asker === null ? null : spenderOf({ id: approval.asked.id, role: asker })
}

async function lockedRole(tx: Transaction, { id }: { readonly id: string }): Promise<Role | null> {
  return id === FIRST_ADMIN.id ? FIRST_ADMIN.role : ((await lockPerson(tx, id))?.role ?? null)
}

/** As they are now: somebody who was revoked meanwhile asks for nothing any more. */
async function askerOf(queryable: Queryable, { asked }: Approval): Promise<Role | null> {
  if (asked.id === FIRST_ADMIN.id) return FIRST_ADMIN.role
  const person = await findPerson(queryable, asked.id)
  return person?.state === 'active' ? person.role : null
}

/** Why this person cannot approve it; null: they can. */
export async function objectionTo(queryable: Queryable, { who, at }: Doer, approval: Approval): Promise<string | null> {
  const { asked, state, expiresAt } = approval
  if (state !== 'open') return `It is ${state} already.`
  if (expiresAt <= at) return 'It ran out; ask for it again.'
  if (asked.id === who.id) return 'You asked for it yourself; another person has to approve it.'
  if (!mayAct(who.role, 'support')) return `This needs the role support; yours is ${who.role}.`
  if (!mayAct(await askerOf(queryable, approval), NEEDED[approval.kind]))
    return `${asked.name} may not ask for it any more; refuse it, and ask for it yourself.`
  // A name that one person made for another this very day is no second person, whichever of them asks.
  if (await areTied(queryable, { one: asked.id, other: who.id, since: at - DAY_MS }))
    return `You and ${asked.name} were let in by one another within the last day; somebody else has to approve it.`
  return null
}

function approved({ id, asked }: Approval): Deed {
  const after = { state: 'approved', askedBy: asked.name, askedById: asked.id }
  return { deed: 'approval.approved', about: aboutApproval(id), before: { state: 'open' }, after }
}

function withAsker({ after }: Deed, { id, asked }: Approval): Deed['after'] {
  return { ...after, approval: id, askedBy: asked.name }
}

function asked({ who, at }: Doer, approval: Approval): Problem {
  const isOwn = approval.asked.id === who.id
  const whom = isOwn
    ? 'another operator has to approve it'
    : `${approval.asked.name} has asked for it; approve it there`
  return new Problem('approval_needed', `No money was sent yet: ${whom} (${approval.id}).`, {
    members: { approval: presentApproval(approval, { who, at }, null) },
  })
}

function usedUp(left: bigint, isOwn: boolean): Problem {
  const sum = formatUsd(usd(left))
  const detail = isOwn ? `You may give back ${sum} more today` : `Whoever asked may give back ${sum} more today`
  return new Problem('refund_budget_spent', `No money was sent. ${detail}; an admin can do it.`)
}

function refused(why: string): Problem {
  return new Problem('approval_refused', `No money was sent. ${why}`)
}
