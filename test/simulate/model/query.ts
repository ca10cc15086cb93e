import type { CommonTableExpr, Node, SelectStmt, WithClause } from 'libpg-query'
import { wordsOf } from './ast.ts'
import { coerced, commonKind, resolved, scaled } from './coerce.ts'
import { exprOf } from './expression.ts'
import { type Field, INT8, type Kind, keyOf, UNKNOWN } from './kinds.ts'
import { type Expr, type Frame, type Level, levelIn, type Part, type RowsOf, type Run } from './level.ts'
import { modificationOf } from './modification.ts'
import { countOf, orderOf, sortKeysOf } from './order.ts'
import { raised, Unsupported } from './raised.ts'
import { selectQuery } from './select.ts'
import type { Row } from './value.ts'

/** A query whose columns may still be asked to be of some kind. */
export type Query = {
  readonly names: readonly string[]
  kinds(): readonly Kind[]
  want(place: number, kind: Kind, into?: { readonly scale: number | null }): void
  finish(): RowsOf
}

export type Planned = {
  readonly fields: readonly Field[]
  readonly rows: RowsOf
  /** It looks at what is around it. */
  readonly isBound: boolean
}

/** What nobody wanted otherwise is text. */
export function plannedQuery(level: Level, build: () => Query): Planned {
  const { uses } = level.text
  const before = uses.length
  const query = build()
  for (const [place, kind] of query.kinds().entries()) if (kind === UNKNOWN) query.want(place, commonKind([]))
  const rows = query.finish()
  const isBound = uses.slice(before).some(({ depth }) => depth <= level.depth)
  const kinds = query.kinds()
  return { fields: query.names.map((name, place) => ({ name, kind: kinds[place]! })), rows, isBound }
}

export function queryOf(node: Node, up: Level): Query {
  if ('SelectStmt' in node) return selectOf(node.SelectStmt, up)
  throw new Unsupported('this query', node)
}

export function selectOf(select: SelectStmt, up: Level): Query {
  const level = levelIn(up.text, up)
  if (select.withClause) addParts(select.withClause, level)
  if (select.op !== 'SETOP_NONE') return ordered(unionOf(select, level), select)
  if (select.valuesLists) return ordered(valuesOf(select.valuesLists, level), select)
  return selectQuery(select, level)
}

/** Of an expression in a list of results: as it is, or as it is wanted to be. */
export function wanted(expr: Expr, kind: Kind, level: Level, into?: { readonly scale: number | null }): Expr {
  return into
    ? scaled(coerced(expr, kind, level.text, 'assigned'), into.scale)
    : coerced(expr, kind, level.text, 'implicit')
}

function unionOf({ op, all, larg, rarg }: SelectStmt, level: Level): Query {
  if (op !== 'SETOP_UNION') throw new Unsupported('this combination of queries', op)
  const sides = [selectOf(larg!, level), selectOf(rarg!, level)] as const
  const [left, right] = sides
  if (left.names.length !== right.names.length)
    throw raised('42601', 'each UNION query must have the same number of columns')
  for (const [place, kind] of left.kinds().entries()) {
    const common = commonKind([kind, right.kinds()[place]!])
    const isKnown = kind !== UNKNOWN || right.kinds()[place] !== UNKNOWN
    if (isKnown || !all) for (const side of sides) side.want(place, common)
  }
  return {
    names: left.names,
    kinds: left.kinds,
    want(place, kind, into) {
      for (const side of sides) side.want(place, kind, into)
    },
    finish() {
      const kinds = left.kinds()
      const [a, b] = sides.map((side) => side.finish()) as [RowsOf, RowsOf]
      return (run, up, atMost) => {
        const frame: Frame = { rows: [], up, run, sums: [] }
        const rows = a(run, frame, all ? atMost : Number.POSITIVE_INFINITY)
        if (all && rows.length >= atMost) return rows
        const both = [...rows, ...b(run, frame, all ? atMost - rows.length : Number.POSITIVE_INFINITY)]
        return all ? both : different(both, kinds)
      }
    },
  }
}

function different(rows: readonly Row[], kinds: readonly Kind[]): readonly Row[] {
  return [
    ...new Map(rows.map((row) => [keyOf(row, (place) => kinds[place]!), row] as const).toReversed()).values(),
  ].toReversed()
}

function valuesOf(lists: readonly Node[], level: Level): Query {
  const rows = lists.map((list) => {
    if (!('List' in list)) throw new Unsupported('these values', list)
    return (list.List.items ?? []).map((item) => exprOf(item, level))
  })
  const width = rows[0]!.length
  const kinds = () => Array.from({ length: width }, (_, place) => kindAt(place))
  const kindAt = (place: number) => {
    const all = rows.map((row) => row[place]!.kind)
    return all.every((kind) => kind === UNKNOWN) ? UNKNOWN : commonKind(all)
  }
  return {
    names: Array.from({ length: width }, (_, place) => `column${place + 1}`),
    kinds,
    want(place, kind, into) {
      for (const row of rows) row[place] = wanted(row[place]!, kind, level, into)
    },
    finish() {
      for (const [place, kind] of kinds().entries())
        for (const row of rows) row[place] = resolved(coerced(row[place]!, kind, level.text), level.text)
      return (run, up) => {
        const frame: Frame = { rows: [], up, run, sums: [] }
        return rows.map((row) => row.map(({ work }) => work(frame)))
      }
    },
  }
}

/** By columns of the result, which is all that the order of a union may name. */
function ordered(query: Query, { sortClause, limitCount, limitOffset }: SelectStmt): Query {
  if (!sortClause && !limitCount && !limitOffset) return query
  if (limitOffset || limitCount) throw new Unsupported('a limit of a union')
  const places: number[] = []
  const keys = sortKeysOf(sortClause, (node) => {
    const place =
      'A_Const' in node
        ? (node.A_Const.ival?.ival ?? 0) - 1
        : 'ColumnRef' in node
          ? query.names.indexOf(wordsOf(node.ColumnRef.fields)[0]!)
          : -1
    if (place < 0) throw new Unsupported('this order of a union', node)
    places.push(place)
    return exprAt(() => query.kinds()[place]!)
  })
  return {
    ...query,
    finish() {
      const rowsOf = query.finish()
      const order = orderOf(keys)
      const pick = (row: Row) => places.map((place) => row[place]!)
      return (run, up) => rowsOf(run, up, Number.POSITIVE_INFINITY).toSorted((a, b) => order(pick(a), pick(b)))
    },
  }
}

/** Stands for a column whose kind is known later. */
function exprAt(kindOf: () => Kind): Expr {
  return {
    get kind() {
      return kindOf()
    },
    work: () => null,
  }
}

/** The most rows that a limit leaves, and how many come before them. */
export function limitsOf({ limitCount, limitOffset }: SelectStmt, level: Level) {
  const int8 = (node: Node | undefined) => (node ? coerced(exprOf(node, level), INT8, level.text).work : null)
  const [count, offset] = [int8(limitCount), int8(limitOffset)]
  return (frame: Frame) => {
    const most = count?.(frame) ?? null
    return { count: most === null ? Number.POSITIVE_INFINITY : countOf(most), offset: countOf(offset?.(frame) ?? 0) }
  }
}

/** What a `with` names. Each is found out when it is first looked at, once. */
export function addParts({ ctes = [], recursive }: WithClause, level: Level): void {
  for (const node of ctes) {
    if (!('CommonTableExpr' in node)) throw new Unsupported('this part', node)
    const { ctename, ctequery } = node.CommonTableExpr
    const mentionsItself = recursive && JSON.stringify(ctequery).includes(`"relname":"${ctename}"`)
    level.parts.set(
      ctename!,
      mentionsItself ? recursivePart(node.CommonTableExpr, level) : partOf(node.CommonTableExpr, level),
    )
  }
}

function partOf({ ctename, ctequery, aliascolnames }: CommonTableExpr, level: Level): Part {
  const modification = modificationOf(ctequery!, level)
  const plan = modification ?? plannedQuery(level, () => queryOf(ctequery!, level))
  if (plan.isBound) throw new Unsupported('a part that looks at what is around it', ctename)
  const names = wordsOf(aliascolnames)
  const fields = plan.fields.map((field, place) => ({ ...field, name: names[place] ?? field.name }))
  const part: Part = {
    fields,
    rows: (run) => foundOnce(run, part, () => plan.rows(run, null, Number.POSITIVE_INFINITY)),
  }
  if (modification) level.text.writing.push(part)
  return part
}

function foundOnce(run: Run, part: Part, find: () => readonly Row[]): readonly Row[] {
  const known = run.found.get(part) as readonly Row[] | undefined
  if (known) return known
  const rows = find()
  run.found.set(part, rows)
  return rows
}

/** First rows, and then those that follow from the newest, until there are none. */
function recursivePart({ ctename, ctequery, aliascolnames }: CommonTableExpr, level: Level): Part {
  if (!ctequery || !('SelectStmt' in ctequery)) throw new Unsupported('this recursion', ctequery)
  const { op, all, larg, rarg } = ctequery.SelectStmt
  if (op !== 'SETOP_UNION') throw new Unsupported('this recursion', op)
  const first = plannedQuery(level, () => selectOf(larg!, level))
  const names = wordsOf(aliascolnames)
  const fields = first.fields.map((field, place) => ({ ...field, name: names[place] ?? field.name }))
  const newest: Part = {
    fields,
    rows: (run) => run.found.get(newest) as readonly Row[],
  }
  level.parts.set(ctename!, newest)
  const next = plannedQuery(level, () => {
    // Whatever looks at the newest rows is asked each time.
    level.text.uses.push({ depth: -1, slot: 0 })
    const query = selectOf(rarg!, level)
    for (const [place, { kind }] of fields.entries()) query.want(place, kind)
    return query
  })
  const part: Part = { fields, rows: (run) => foundOnce(run, part, () => grown(run, first, next, { newest, all })) }
  return part
}

type Growth = { readonly newest: Part; readonly all: boolean | undefined }

function grown(run: Run, first: Planned, next: Planned, { newest, all }: Growth): readonly Row[] {
  const rows: Row[] = []
  const seen = new Set<string>()
  const fresh = (found: readonly Row[]) =>
    found.filter((row) => {
      const key = keyOf(row, (place) => first.fields[place]!.kind)
      return all || (!seen.has(key) && seen.add(key))
    })
  let latest = fresh(first.rows(run, null, Number.POSITIVE_INFINITY))
  while (latest.length > 0) {
    rows.push(...latest)
    run.found.set(newest, latest)
    latest = fresh(next.rows(run, null, Number.POSITIVE_INFINITY))
  }
  return rows
}
