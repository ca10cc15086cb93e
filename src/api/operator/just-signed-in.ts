import { Problem } from '../../base/problem.ts'
import { FIRST_ADMIN, type Operator } from '../../domain/operator.ts'
import type { Queryable } from '../../store/db.ts'
import { listPasskeys } from '../../store/people/passkeys.ts'
import { BEGAN_WITH } from '../../store/people/sessions.ts'

/** The session of a browser, as far as it matters what may be done with it. */
export type OpenSession = { readonly id: string; readonly beganAt: number; readonly beganWith: string }

const JUST_MS = 15 * 60_000

/**
 * Before somebody is given another key. Whoever found a token, or a console that was left open, must not make a key of their own out of it
 * that is still good when the one they found is taken away.
 */
export function assertJustSignedIn(session: OpenSession | null, now: number, what: string): void {
  if (session === null || session.beganWith === BEGAN_WITH.token)
    throw new Problem(
      'not_from_console',
      `Nothing was done. ${what} at the console, by whoever has signed in there with a passkey or a link; a token is not enough.`,
    )
  if (session.beganAt > now - JUST_MS) return
  throw new Problem('sign_in_again', `Nothing was done. ${what} within 15 minutes of signing in; sign in again.`)
}

const TOUCHED_MS = 5 * 60_000

type Caller = { readonly who: Operator; readonly session: OpenSession | null }

/**
 * Before somebody lets others in, or sends much money with another's word. Whoever has a passkey must have used it a moment ago: neither a
 * stolen session nor a token of theirs is enough. Who has none is as safe as their session.
 */
export async function assertTouched(queryable: Queryable, { who, session }: Caller, now: number): Promise<void> {
  if (who.id === FIRST_ADMIN.id || (await listPasskeys(queryable, who.id)).length === 0) return
  if (session === null || session.beganWith === BEGAN_WITH.token)
    throw new Problem(
      'not_from_console',
      'Nothing was done. You have a passkey, and this needs it: do it at the console, signed in with it. A token is not enough.',
    )
  if (session.beganWith === BEGAN_WITH.passkey && session.beganAt > now - TOUCHED_MS) return
  throw new Problem(
    'sign_in_again',
    'Nothing was done. This needs your passkey, used within 5 minutes; sign in with it again.',
  )
}
