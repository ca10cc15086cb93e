import { Problem } from '../../base/problem.ts'
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
      `Nothing was done. ${what} at the console, signed in with a link; a token is not enough.`,
    )
  if (session.beganAt > now - JUST_MS) return
  throw new Problem('sign_in_again', `Nothing was done. ${what} within 15 minutes of signing in; sign in again.`)
}
