type Outcome = { readonly rows: readonly object[]; readonly count: number | null } | { readonly error: unknown }

export type Likeness = {
  /** What the engine has made up, as the model calls it. */
  translated(values: readonly unknown[]): readonly unknown[]
  /** Null: they say the same. */
  difference(theirs: Outcome, ours: Outcome, order: readonly string[]): string | null
  forget(): void
}

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g
/** What the engine and the model call the history and the birth of a store: numbers of the server, of its files and of transactions. */
const HISTORY = /\b(?:\d{10,}|model)\/(?:[0-9A-F]{8}\/\d+|\d+\/\d+)\b/g

/** Whether two stores say the same, but for what each has made up: what one calls so the other calls so every time. */
export function likeness(): Likeness {
  const toModel = new Map<string, string>()
  const fromModel = new Map<string, string>()

  /** With `?` for what has no name on the other side yet. */
  function bare(text: string, names: ReadonlyMap<string, string> | ReadonlySet<string>): string {
    const shown = (name: string) =>
      names instanceof Map ? (names.get(name) ?? '?') : (names as ReadonlySet<string>).has(name) ? name : '?'
    return text.replace(UUID, shown).replace(HISTORY, shown)
  }

  function pair(theirs: string, ours: string): void {
    const [named, called] = [namesIn(theirs), namesIn(ours)]
    for (const [nth, name] of named.entries()) {
      if (toModel.has(name) || called[nth] === undefined) continue
      toModel.set(name, called[nth])
      fromModel.set(called[nth], name)
    }
  }

  function comparedRows(theirs: readonly object[], ours: readonly object[], order: readonly string[]): string | null {
    const known = new Set(fromModel.keys())
    // Which of two that are equal by the order comes first, nobody has said.
    const inOrder = order.length > 0 ? firstOther(orderOf(theirs, order), orderOf(ours, order)) : null
    if (inOrder) return `in this order ${inOrder}`
    const a = sorted(theirs.map((row) => ({ row, like: bare(shown(row), toModel) })))
    const b = sorted(ours.map((row) => ({ row, like: bare(shown(row), known) })))
    const other = firstOther(
      a.map(({ like }) => like),
      b.map(({ like }) => like),
    )
    if (other) return other
    for (const [nth, { row }] of a.entries()) pair(shown(row), shown(b[nth]!.row))
    return null
  }

  const named = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(UUID, nameOf).replace(HISTORY, nameOf)
    if (Array.isArray(value)) return value.map(named)
    return value
  }
  const nameOf = (name: string) => toModel.get(name) ?? name

  return {
    translated: (values) => values.map(named),
    difference(theirs, ours, order) {
      if ('error' in theirs || 'error' in ours) {
        const [a, b] = [theirs, ours].map((side) => ('error' in side ? errorOf(side.error) : 'no error'))
        return a === b ? null : `${a} is ${b}`
      }
      if (theirs.count !== ours.count) return `${theirs.count} rows are ${ours.count}`
      return comparedRows(theirs.rows, ours.rows, order)
    },
    forget() {
      toModel.clear()
      fromModel.clear()
    },
  }
}

type Likes = readonly { readonly row: object; readonly like: string }[]

const sorted = (likes: Likes): Likes => likes.toSorted((one, other) => (one.like < other.like ? -1 : 1))

const orderOf = (rows: readonly object[], order: readonly string[]) =>
  rows.map((row) => JSON.stringify(order.map((name) => (row as Readonly<Record<string, unknown>>)[name])))

function firstOther(theirs: readonly string[], ours: readonly string[]): string | null {
  const nth = theirs.findIndex((one, place) => one !== ours[place])
  if (nth < 0 && theirs.length >= ours.length) return null
  return nth < 0 ? `no row is ${ours[theirs.length]}` : `${theirs[nth]} is ${ours[nth] ?? 'no row'}`
}

const namesIn = (text: string) => [...text.matchAll(UUID), ...text.matchAll(HISTORY)].map(([name]) => name)

/** Every letter of it: a document whose keys stand otherwise is another one. */
function shown(row: object): string {
  return JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? `${value}n` : value))
}

function errorOf(error: unknown): string {
  const { code, constraint, cause, message } = error as Record<string, unknown>
  const inner = code === undefined || typeof code !== 'string' || code.length !== 5 ? cause : undefined
  if (inner) return errorOf(inner)
  return `error ${String(code)} ${String(constraint ?? '')}${code === undefined ? String(message) : ''}`
}
