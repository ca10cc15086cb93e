import type { LoadHookSync } from 'node:module'
import { type Cut, rewriting } from './rewriting.ts'

// Idle loops of a shop look twice a second whether another process has left something: a third of all steps, and nearly all of them in vain. Here they
// look every two seconds. What happens in their own process wakes them, as ever.

const looks = { from: 'const POLL_MS = 500', to: 'const POLL_MS = 2_000' }

const cuts: readonly Cut[] = [
  { file: 'src/checkout/worker.ts', ...looks },
  { file: 'src/webhooks/worker.ts', ...looks },
]

/** For `registerHooks`, before `src/` is loaded. */
export function slowerLooksHook(): { readonly load: LoadHookSync } {
  return rewriting('the pace of idle loops', cuts)
}
