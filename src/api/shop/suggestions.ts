import type { JsonObject } from '../../base/json.ts'
import type { Route } from '../../domain/route.ts'

/** For whoever asked for an address that is none: all that there are, and the one that they may have meant. */
type Suggestion = { readonly members: JsonObject; readonly near: string | null }

const PATH_CHARS_MAX = 100
/** More than a third of it is another word. */
const DISTANCE_SHARE_MAX = 0.34

export function createSuggestions(routes: readonly Route[]): (path: string) => Suggestion {
  const lines = [...new Set(routes.map(({ method, path }) => `${method} ${path}`))]
  const members = { routes: lines }
  return (path) => {
    const asked = path.slice(0, PATH_CHARS_MAX).toLowerCase().replace(/\/+$/, '')
    let near: string | null = null
    let least = Math.floor(asked.length * DISTANCE_SHARE_MAX) + 1
    for (const line of lines) {
      const distance = distanceBetween(asked, line.slice(line.indexOf(' ') + 1), least)
      if (distance < least) {
        near = line
        least = distance
      }
    }
    return { members, near }
  }
}

/** How many letters differ (Levenshtein), or `most` when it is that many or more. */
function distanceBetween(one: string, other: string, most: number): number {
  if (Math.abs(one.length - other.length) >= most) return most
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one.charCodeAt(i - 1) === other.charCodeAt(j - 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1)))
    }
    row = next
  }
  return Math.min(most, row[other.length]!)
}
