import type { JsonObject } from '../../base/json.ts'
import { nearestWord } from '../../base/nearest-word.ts'
import type { Route } from '../../domain/route.ts'

/** For whoever asked for an address that is none: all that there are, and the one that they may have meant. */
type Suggestion = { readonly members: JsonObject; readonly near: string | null }

export function createSuggestions(routes: readonly Route[]): (path: string) => Suggestion {
  const lines = [...new Set(routes.map(({ method, path }) => `${method} ${path}`))]
  const paths = [...new Set(routes.map(({ path }) => path))]
  const members = { routes: lines }
  return (path) => {
    const near = nearestWord(path.replace(/\/+$/, ''), paths)
    return { members, near: lines.find((line) => line.endsWith(` ${near}`)) ?? null }
  }
}
