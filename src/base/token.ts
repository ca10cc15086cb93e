import { createHash } from 'node:crypto'
import type { Random } from './id.ts'
import { Secret } from './secret.ts'

/** `link`: works once. `personal`: for the command line. `session`: what a browser holds. The letters in front are for whoever finds one. */
const PREFIX = { link: 'sln', personal: 'spt', session: 'sse' } as const
const BYTES = 32

/** 256 random bits. Whoever holds it is let in, so only its digest is kept. */
export function newToken(kind: keyof typeof PREFIX, random: Random): Secret {
  return new Secret(`${PREFIX[kind]}_${Buffer.from(random.bytes(BYTES)).toString('base64url')}`)
}

/** Could this be one? Saves the store a look at every guess. */
export function isToken(kind: keyof typeof PREFIX, text: string): boolean {
  return text.startsWith(`${PREFIX[kind]}_`) && /^\w{3}_[\w-]{43}$/.test(text)
}

/** A token is random through and through: no salt, and no slow hash. */
export function tokenDigest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
