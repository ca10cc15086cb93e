import type { Random } from '../../base/id.ts'
import { tokenDigest } from '../../base/token.ts'
import type { Operator, Role } from '../../domain/operator.ts'
import type { Database, Transaction } from '../db.ts'
import { countFailure, waitOfAddress, waitOfOperator } from './failures.ts'
import { addPerson, countAdmins } from './operators.ts'
import { BEGAN_WITH, type BegunSession, beginSession, findSession, replaceSession } from './sessions.ts'
import { findToken, type HeldToken, lockToken, useToken } from './tokens.ts'

/** Somebody at the door. */
export type Caller = {
  readonly address: string
  readonly device: string
  /** What the browser holds already. */
  readonly held: string | null
  readonly at: number
  readonly random: Random
}

export type SignIn =
  | { readonly kind: 'in'; readonly session: BegunSession }
  | { readonly kind: 'refused' }
  | { readonly kind: 'limited'; readonly seconds: number }

/** Who it is that may come in, and how that was proved; null: nobody. `suspect`: whose token or key it was all the same. */
export type Proof = {
  readonly operator: Pick<Operator, 'id' | 'name' | 'role' | 'via'> | null
  readonly suspect: string | null
  readonly how: string
  readonly token: { readonly id: string; readonly until: number | null } | null
}

/** Who makes links in the sandbox. */
export const SANDBOX = 'sandbox'
const FOUNDER_NAME = 'admin'

/** A link or a personal token becomes a session. */
export function signInByToken(db: Database, caller: Caller, token: string, name?: string): Promise<SignIn> {
  return signIn(db, caller, async (tx) => {
    const held = await lockToken(tx, tokenDigest(token), caller.at)
    if (!held?.isGood) return { operator: null, suspect: held?.operator?.id ?? null, how: 'token', token: null }
    const via = held.madeBy === SANDBOX ? SANDBOX : 'console'
    const operator = held.operator ?? (await found(tx, caller, name ?? FOUNDER_NAME))
    if (operator && held.kind === 'link') await useToken(tx, held.id, caller.at, operator.id)
    // A link is used up by this; what can be used again lets nobody stay longer than it does itself.
    const used = { id: held.id, until: held.kind === 'link' ? null : held.expiresAt }
    return { operator: operator && { ...operator, via }, suspect: null, how: howOf(held), token: used }
  })
}

type TokenLook =
  | {
      readonly kind: 'good'
      /** Null: whoever becomes the first admin. */
      readonly operator: { readonly name: string; readonly role: Role } | null
      readonly expiresAt: number
      /** Who is signed in with what the browser holds already. */
      readonly held: string | null
    }
  | Exclude<SignIn, { kind: 'in' }>

/** Whom would it let in? Counts like a try, and uses nothing up. */
export function lookAtToken(db: Database, { address, held, at }: Caller, token: string): Promise<TokenLook> {
  return db.transaction(async (tx): Promise<TokenLook> => {
    const seconds = await waitOfAddress(tx, address, at)
    if (seconds > 0) return { kind: 'limited', seconds }
    const found = await findToken(tx, tokenDigest(token), at)
    if (!found?.isGood) {
      await countFailure(tx, { address, operatorId: found?.operator?.id ?? null, now: at })
      return { kind: 'refused' }
    }
    const session = held === null ? null : await findSession(tx, held, at)
    return { kind: 'good', operator: found.operator, expiresAt: found.expiresAt, held: session?.operator.name ?? null }
  })
}

function howOf({ kind, operator }: HeldToken): string {
  return operator === null ? BEGAN_WITH.first : kind === 'link' ? BEGAN_WITH.link : BEGAN_WITH.token
}

/** The first admin comes to be with the first sign-in. There is only one first: of two links, the second opens nothing any more. */
async function found(tx: Transaction, { address, at, random }: Caller, name: string) {
  if ((await countAdmins(tx)) > 0) return null
  const who = { id: 'opr_first', name, role: 'admin', via: 'console', address } as const
  return addPerson(tx, { who, by: name, at, random }, { name, role: 'admin' })
}

/** Counts the failures over all replicas, and looks at nothing any more once there were too many. */
export function signIn(db: Database, caller: Caller, prove: (tx: Transaction) => Promise<Proof>): Promise<SignIn> {
  const { address, device, held, at, random } = caller
  return db
    .transaction(async (tx): Promise<SignIn> => {
      const seconds = await waitOfAddress(tx, address, at)
      if (seconds > 0) return { kind: 'limited', seconds }
      const { operator, suspect, how, token } = await prove(tx)
      const known = operator?.id ?? suspect
      const wait = known === null ? 0 : await waitOfOperator(tx, known, at)
      if (wait > 0) throw new TooMany(wait)
      if (!operator) {
        await countFailure(tx, { address, operatorId: suspect, now: at })
        return { kind: 'refused' }
      }
      if (held !== null) await replaceSession(tx, held, at)
      const who = { ...operator, via: operator.via === SANDBOX ? SANDBOX : 'console', address } as const
      const doer = { who, by: who.name, at, random }
      return { kind: 'in', session: await beginSession(tx, doer, { device, how, token }) }
    })
    .catch((error: unknown) => {
      if (error instanceof TooMany) return { kind: 'limited', seconds: error.seconds }
      throw error
    })
}

/** Rolls back: a link that was right is not used up by somebody who has to wait. */
class TooMany extends Error {
  readonly seconds: number
  constructor(seconds: number) {
    super('too many failures')
    this.seconds = seconds
  }
}
