import type { Random } from '../../base/id.ts'
import { tokenDigest } from '../../base/token.ts'
import type { Operator } from '../../domain/operator.ts'
import type { Database, Transaction } from '../db.ts'
import { countFailure, waitOfAddress, waitOfOperator } from './failures.ts'
import { addPerson, countAdmins } from './operators.ts'
import { type BegunSession, beginSession, replaceSession } from './sessions.ts'
import { type HeldToken, lockToken, useToken } from './tokens.ts'

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
}

/** Who makes links in the sandbox. */
export const SANDBOX = 'sandbox'
const FOUNDER_NAME = 'admin'

/** A link or a personal token becomes a session. */
export function signInByToken(db: Database, caller: Caller, token: string, name?: string): Promise<SignIn> {
  return signIn(db, caller, async (tx) => {
    const held = await lockToken(tx, tokenDigest(token), caller.at)
    if (!held?.isGood) return { operator: null, suspect: held?.operator?.id ?? null, how: 'token' }
    const via = held.madeBy === SANDBOX ? SANDBOX : 'console'
    const operator = held.operator ?? (await found(tx, caller, name ?? FOUNDER_NAME))
    if (operator && held.kind === 'link') await useToken(tx, held.id, caller.at, operator.id)
    return { operator: operator && { ...operator, via }, suspect: null, how: howOf(held) }
  })
}

function howOf({ kind, operator }: HeldToken): string {
  return operator === null ? 'first link' : kind === 'link' ? 'link' : 'personal token'
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
      const { operator, suspect, how } = await prove(tx)
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
      return { kind: 'in', session: await beginSession(tx, doer, { device, how }) }
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
