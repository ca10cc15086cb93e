import type { Random } from '../../base/id.ts'
import { tokenDigest } from '../../base/token.ts'
import type { Operator, Role } from '../../domain/operator.ts'
import type { Database, Transaction } from '../db.ts'
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

export type SignIn = { readonly kind: 'in'; readonly session: BegunSession } | { readonly kind: 'refused' }

/** Who it is that may come in, and how that was proved; null: nobody. */
export type Proof = {
  readonly operator: Pick<Operator, 'id' | 'name' | 'role' | 'via'> | null
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
    if (!held?.isGood) return { operator: null, how: 'token', token: null }
    const via = held.madeBy === SANDBOX ? SANDBOX : 'console'
    const operator = held.operator ?? (await found(tx, caller, name ?? FOUNDER_NAME))
    if (operator && held.kind === 'link') await useToken(tx, held.id, caller.at, operator.id)
    // A link is used up by this; what can be used again lets nobody stay longer than it does itself.
    const used = { id: held.id, until: held.kind === 'link' ? null : held.expiresAt }
    return { operator: operator && { ...operator, via }, how: howOf(held), token: used }
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

/** Whom would it let in? Uses nothing up. */
export async function lookAtToken(db: Database, { held, at }: Caller, token: string): Promise<TokenLook> {
  const found = await findToken(db, tokenDigest(token), at)
  if (!found?.isGood) return { kind: 'refused' }
  const session = held === null ? null : await findSession(db, held, at)
  return { kind: 'good', operator: found.operator, expiresAt: found.expiresAt, held: session?.operator.name ?? null }
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

/** What is good is let in, whatever else was tried: links, tokens and signatures of 256 bits are not guessed. */
export function signIn(db: Database, caller: Caller, prove: (tx: Transaction) => Promise<Proof>): Promise<SignIn> {
  const { address, device, held, at, random } = caller
  return db.transaction(async (tx) => {
    const { operator, how, token } = await prove(tx)
    if (!operator) return { kind: 'refused' }
    if (held !== null) await replaceSession(tx, held, at)
    const who = { ...operator, via: operator.via === SANDBOX ? SANDBOX : 'console', address } as const
    const doer = { who, by: who.name, at, random }
    return { kind: 'in', session: await beginSession(tx, doer, { device, how, token }) }
  })
}
