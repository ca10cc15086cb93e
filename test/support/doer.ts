import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/id.ts'
import { FIRST_ADMIN } from '../../src/domain/operator.ts'
import type { Doer } from '../../src/store/deeds.ts'

/** Whoever holds the shop's own token, in tests that work below the routes. */
export const tester: Doer = {
  who: { ...FIRST_ADMIN, via: 'token', address: '127.0.0.1' },
  by: 'tester',
  at: systemClock.now(),
  random: systemRandom,
}
