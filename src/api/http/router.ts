/** What the router found: the rows of a path, and what stands in its placeholders. */
type Found<Value> = { readonly value: Value; readonly params: Readonly<Record<string, string>> }

type Router<Value> = { find(path: string): Found<Value> | null }

type Template<Value> = { readonly segments: readonly string[]; readonly found: Found<Value> }

/**
 * Paths are compared as they were sent, byte for byte. An encoded letter, a doubled or trailing slash, another case: each is another path,
 * so no spelling reaches a handler that another part of the server would read differently.
 */
export function createRouter<Value>(paths: ReadonlyMap<string, Value>): Router<Value> {
  const fixed = new Map<string, Found<Value>>()
  const templates: Template<Value>[] = []
  for (const [path, value] of paths) {
    const found = { value, params: {} }
    if (path.includes('{')) templates.push({ segments: path.split('/'), found })
    else fixed.set(path, found)
  }
  return {
    find(path) {
      const exact = fixed.get(path)
      if (exact) return exact
      const segments = path.split('/', SEGMENTS_MAX + 1)
      for (const template of templates) {
        const params = paramsOf(template.segments, segments)
        if (params) return { value: template.found.value, params }
      }
      return null
    },
  }
}

const SEGMENTS_MAX = 16

function paramsOf(template: readonly string[], segments: readonly string[]): Record<string, string> | null {
  if (template.length !== segments.length) return null
  const params: Record<string, string> = {}
  for (const [i, part] of template.entries()) {
    const segment = segments[i]!
    if (!part.startsWith('{')) {
      if (part !== segment) return null
      continue
    }
    const value = decoded(segment)
    if (value === null || value === '') return null
    params[part.slice(1, -1)] = value
  }
  return params
}

function decoded(segment: string): string | null {
  try {
    return decodeURIComponent(segment)
  } catch {
    return null
  }
}
