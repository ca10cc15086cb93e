import type { Random } from '../../base/id.ts'
import { tokenDigest } from '../../base/token.ts'
import type { Role } from '../../domain/operator.ts'
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

/** Who makes links in the sandbox. */
export const SANDBOX = 'sandbox'
const FOUNDER_NAME = 'admin'

/** A link or a personal token becomes a session, whatever else was tried: 256 bits are not guessed. */
export function signInByToken(db: Database, caller: Caller, token: string, name?: string): Promise<SignIn> {
  const { address, device, at, random } = caller
  return db.transaction(async (tx) => {
    const held = await lockToken(tx, tokenDigest(token), at)
    if (!held?.isGood) return { kind: 'refused' }
    const operator = held.operator ?? (await found(tx, caller, name ?? FOUNDER_NAME))
    if (!operator) return { kind: 'refused' }
    if (held.kind === 'link') await useToken(tx, held.id, at, operator.id)
    if (caller.held !== null) await replaceSession(tx, caller.held, at)
    // A link is used up by this; a session by a personal token ends no later than the token.
    const used = { id: held.id, until: held.kind === 'link' ? null : held.expiresAt }
    const { id, name: by, role } = operator
    const who = { id, name: by, role, via: held.madeBy === SANDBOX ? SANDBOX : 'console', address } as const
    return {
      kind: 'in',
      session: await beginSession(tx, { who, by, at, random }, { device, how: howOf(held), token: used }),
    }
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
