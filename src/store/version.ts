import { type JsonObject, sha256Hex, stringify } from '../base/json.ts'
import { Problem } from '../base/problem.ts'

/** What somebody saw when they decided: the same words are the same version, whoever wrote them. Sales change none. */
export function versionOf(terms: JsonObject): string {
  return sha256Hex(stringify(terms)).slice(0, 16)
}

/** Thrown where it stands otherwise than whoever wants to change it has seen; rolls back what was to change. */
export function assertVersion(seen: string | undefined, now: JsonObject): void {
  if (seen === undefined || seen === versionOf(now)) return
  throw new Problem(
    'changed_meanwhile',
    'Somebody changed it since you looked; nothing was changed. Look at it again.',
    {
      members: { now, version: versionOf(now) },
    },
  )
}
