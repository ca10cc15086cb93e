import type { Node, RowExpr, SubLink } from 'libpg-query'
import { lastWord } from './ast.ts'
import { coerced, commonKind } from './coerce.ts'
import { eachOf, exprOf } from './expression.ts'
import { BOOL, type Kind, listOf } from './kinds.ts'
import type { Expr, Frame, Level, Text } from './level.ts'
import { comparedRows } from './operators.ts'
import { type Planned, plannedQuery, type Query, queryOf } from './query.ts'
import { raised, Unsupported } from './raised.ts'
import type { Key, Row, Value } from './value.ts'

/** A query within an expression. */
export function sublinkExpr(node: SubLink, level: Level): Expr {
  const query = () => queryOf(node.subselect!, level)
  switch (node.subLinkType) {
    case 'EXISTS_SUBLINK': {
      const plan = plannedQuery(level, query)
      return { kind: BOOL, work: onceOrEach(plan, (frame) => plan.rows(frame.run, frame, 1).length > 0) }
    }
    case 'EXPR_SUBLINK': {
      const plan = plannedQuery(level, query)
      return { kind: plan.fields[0]!.kind, work: onceOrEach(plan, (frame) => onlyRow(plan, frame)?.[0] ?? null) }
    }
    case 'ARRAY_SUBLINK': {
      const plan = plannedQuery(level, query)
      const all = (frame: Frame) => plan.rows(frame.run, frame, Number.POSITIVE_INFINITY).map(([value]) => value!)
      return { kind: listOf(plan.fields[0]!.kind), work: onceOrEach(plan, all) }
    }
    case 'ANY_SUBLINK':
      return anyOf(node, level)
    default:
      throw new Unsupported('this query within an expression', node)
  }
}

/** A query that looks at nothing around it is asked once for each run of the statement. */
function onceOrEach(plan: Planned, find: (frame: Frame) => Value): (frame: Frame) => Value {
  if (plan.isBound) return find
  return (frame) => {
    const { found } = frame.run
    const known = found.get(plan)
    if (known !== undefined) return known as Value
    const value = find(frame)
    found.set(plan, value)
    return value
  }
}

function onlyRow(plan: Planned, frame: Frame): Row | undefined {
  const rows = plan.rows(frame.run, frame, 2)
  if (rows.length > 1) throw raised('21000', 'more than one row returned by a subquery used as an expression')
  return rows[0]
}

/** `in (select …)`. */
function anyOf(node: SubLink, level: Level): Expr {
  if (lastWord(node.operName) !== '' && lastWord(node.operName) !== '=') throw new Unsupported('this any', node)
  if (node.testexpr && 'RowExpr' in node.testexpr) return anyRow(node.testexpr.RowExpr, node, level)
  const test = exprOf(node.testexpr!, level)
  let kind = test.kind
  const plan = plannedQuery(level, () => {
    const query = queryOf(node.subselect!, level)
    kind = commonKind([test.kind, query.kinds()[0]!])
    query.want(0, kind)
    return query
  })
  const { work } = coerced(test, kind, level.text)
  const members = onceOrEach(plan, (frame) => membersOf(plan, frame, kind) as unknown as Value)
  return {
    kind: BOOL,
    work(frame) {
      const value = work(frame)
      const { keys, hasNull, isEmpty } = members(frame) as unknown as Members
      if (isEmpty) return false
      if (value === null) return null
      return keys.has(kind.key(value)) ? true : hasNull ? null : false
    },
  }
}

type Members = { readonly keys: ReadonlySet<Key>; readonly hasNull: boolean; readonly isEmpty: boolean }

function membersOf(plan: Planned, frame: Frame, kind: Kind): Members {
  const values = plan.rows(frame.run, frame, Number.POSITIVE_INFINITY).map(([value]) => value!)
  const there = values.filter((value) => value !== null)
  return {
    keys: new Set(there.map((value) => kind.key(value))),
    hasNull: there.length < values.length,
    isEmpty: values.length === 0,
  }
}

function anyRow(row: RowExpr, node: SubLink, level: Level): Expr {
  const tests = eachOf(row.args, level)
  const { plan, kinds, works } = besideQuery(tests, node.subselect!, level)
  return {
    kind: BOOL,
    work(frame) {
      const values = works.map((work) => work(frame))
      let isUnknown = false
      for (const other of plan.rows(frame.run, frame, Number.POSITIVE_INFINITY)) {
        const isSame = comparedRows('=', kinds, values, other)
        if (isSame) return true
        if (isSame === null) isUnknown = true
      }
      return isUnknown ? null : false
    },
  }
}

/** The columns of a query, in the kinds that they share with what they are compared to. */
function besideQuery(tests: readonly Expr[], subselect: Node, level: Level) {
  const kinds: Kind[] = []
  const plan = plannedQuery(level, () => {
    const query: Query = queryOf(subselect, level)
    for (const [place, kind] of query.kinds().entries()) {
      kinds.push(commonKind([tests[place]!.kind, kind]))
      query.want(place, kinds[place]!)
    }
    return query
  })
  return { plan, kinds, works: sameKinds(tests, kinds, level.text) }
}

const sameKinds = (exprs: readonly Expr[], kinds: readonly Kind[], text: Text) =>
  exprs.map((expr, place) => coerced(expr, kinds[place]!, text).work)

/** `(a, b) < (c, d)`, where the right side may be a query of one row. */
export function rowsCompared(operator: string, row: RowExpr, other: Node, level: Level): Expr {
  const left = eachOf(row.args, level)
  if ('SubLink' in other && other.SubLink.subLinkType === 'EXPR_SUBLINK') {
    const { plan, kinds, works } = besideQuery(left, other.SubLink.subselect!, level)
    const work = (frame: Frame) => {
      const found = onlyRow(plan, frame)
      return found
        ? comparedRows(
            operator,
            kinds,
            works.map((one) => one(frame)),
            found,
          )
        : null
    }
    return { kind: BOOL, work }
  }
  if (!('RowExpr' in other)) throw new Unsupported('a row compared to this', other)
  const right = eachOf(other.RowExpr.args, level)
  const kinds = left.map((expr, place) => commonKind([expr.kind, right[place]!.kind]))
  const [as, bs] = [sameKinds(left, kinds, level.text), sameKinds(right, kinds, level.text)]
  const each = (works: typeof as, frame: Frame) => works.map((work) => work(frame))
  return { kind: BOOL, work: (frame) => comparedRows(operator, kinds, each(as, frame), each(bs, frame)) }
}
