import type { Node, SelectStmt } from 'libpg-query'
import { lastWord, wordsOf } from './ast.ts'
import { conditionOf, exprOf } from './expression.ts'
import { conditionsIn, place, type Reach, reachOf } from './from.ts'
import { type Group, grouped } from './group.ts'
import { type Loop, leavesOf, loopOf } from './join.ts'
import { type Kind, keyOf } from './kinds.ts'
import {
  cell,
  type Expr,
  type Frame,
  type Level,
  type RowsOf,
  type SortKey,
  type Sum,
  type Window,
  type Work,
} from './level.ts'
import { orderOf, sortKeysOf } from './order.ts'
import { limitsOf, type Query, wanted } from './query.ts'
import { Unsupported } from './raised.ts'
import { givesRows, type RowSource, rowFunction } from './rows.ts'
import type { Row, Value } from './value.ts'
import { numbered } from './window.ts'

/** A result: its name, and its expression or the rows that it gives. */
type Target = { readonly name: string; expr: Expr; readonly set: RowSource | null }

export function selectQuery(select: SelectStmt, level: Level): Query {
  refuse(select)
  const reach = reachOf(select.fromClause, level)
  const [sums, windows] = [[], []] as [Sum[], Window[]]
  Object.assign(level, { sums, windows })
  const targets = targetsOf(select.targetList, level)
  Object.assign(level, { sums: null, windows: null })
  const first = select.whereClause ? placed(select.whereClause, reach, level) : []
  Object.assign(level, { sums, windows })
  const having = select.havingClause ? conditionOf(select.havingClause, level).work : null
  const order = sortKeysOf(select.sortClause, (node) => sortExpr(node, targets, level))
  const groups = (select.groupClause ?? []).map((node) => groupExpr(node, targets, level))
  const [isDistinct, on] = distinctOf(select, targets, level)
  const parts: Parts = {
    ...{ targets, first, having, order, sums, windows, isDistinct, on, level },
    groups: groups.length > 0 || sums.length > 0 ? groups : null,
    reach,
    limits: limitsOf(select, level),
  }
  return {
    names: targets.map(({ name }) => name),
    kinds: () => targets.map(({ expr }) => expr.kind),
    want(place, kind, into) {
      const target = targets[place]!
      target.expr = wanted(target.expr, kind, level, into)
    },
    finish: () => finished(parts),
  }
}

function refuse({ intoClause, windowClause, groupDistinct, limitOption }: SelectStmt): void {
  if (intoClause || windowClause || groupDistinct || limitOption === 'LIMIT_OPTION_WITH_TIES')
    throw new Unsupported('this select')
}

/** Conditions that look at no table of this query; all others are put where they can be asked first. */
function placed(where: Node, reach: Reach | null, level: Level): readonly Work[] {
  const conditions = conditionsIn(where, level)
  for (const condition of conditions) if (reach && condition.slots.size > 0) place(condition, reach, new Set())
  return conditions.filter(({ slots }) => !reach || slots.size === 0).map(({ work }) => work)
}

export function targetsOf(nodes: readonly Node[] | undefined, level: Level): Target[] {
  return (nodes ?? []).flatMap((node): Target[] => {
    if (!('ResTarget' in node)) throw new Unsupported('this result', node)
    const { name, val } = node.ResTarget
    if (val && 'ColumnRef' in val && 'A_Star' in (val.ColumnRef.fields?.at(-1) ?? {}))
      return starOf(wordsOf(val.ColumnRef.fields!.slice(0, -1))[0], level)
    const set =
      val && 'FuncCall' in val && givesRows(lastWord(val.FuncCall.funcname)) ? rowFunction(val.FuncCall, level) : null
    const expr = set ? { kind: set.fields[0]!.kind, work: () => null } : exprOf(val!, level)
    return [{ name: name ?? nameOf(val!), expr, set }]
  })
}

function starOf(table: string | undefined, level: Level): Target[] {
  const items = level.items.filter((item) => (table === undefined ? !item.isApart : item.name === table))
  if (items.length === 0) throw new Unsupported('all columns of this', table)
  return items.flatMap((item) =>
    item.fields.map(({ name }, place) => ({ name, expr: cell(item, place, level, level), set: null })),
  )
}

/** What the server calls a result that has no name. */
function nameOf(node: Node): string {
  if ('ColumnRef' in node) return lastWord(node.ColumnRef.fields)
  if ('FuncCall' in node) return lastWord(node.FuncCall.funcname)
  if ('CoalesceExpr' in node) return 'coalesce'
  if ('CaseExpr' in node) return 'case'
  if ('MinMaxExpr' in node) return node.MinMaxExpr.op === 'IS_GREATEST' ? 'greatest' : 'least'
  if ('A_ArrayExpr' in node) return 'array'
  if ('TypeCast' in node) {
    const inner = nameOf(node.TypeCast.arg!)
    return inner === '?column?' ? lastWord(node.TypeCast.typeName?.names) : inner
  }
  if (!('SubLink' in node)) return '?column?'
  if (node.SubLink.subLinkType === 'EXISTS_SUBLINK') return 'exists'
  if (node.SubLink.subLinkType === 'ARRAY_SUBLINK') return 'array'
  const inner = node.SubLink.subselect
  const target = inner && 'SelectStmt' in inner ? inner.SelectStmt.targetList?.[0] : undefined
  if (node.SubLink.subLinkType !== 'EXPR_SUBLINK' || !target || !('ResTarget' in target)) return '?column?'
  return target.ResTarget.name ?? nameOf(target.ResTarget.val!)
}

/** By its number, by the name of a result, or as an expression of its own. */
function sortExpr(node: Node, targets: readonly Target[], level: Level): Expr {
  const numbered = numberedTarget(node, targets)
  if (numbered) return resultOf(numbered)
  const names = 'ColumnRef' in node ? wordsOf(node.ColumnRef.fields) : []
  const target = names.length === 1 ? targets.find(({ name }) => name === names[0]) : undefined
  return target ? resultOf(target) : exprOf(node, level)
}

function numberedTarget(node: Node, targets: readonly Target[]): Target | undefined {
  return 'A_Const' in node && node.A_Const.ival ? targets[(node.A_Const.ival.ival ?? 0) - 1] : undefined
}

/** A result is worked out in the kind that is wanted of it in the end. */
function resultOf(target: Target): Expr {
  if (target.set) throw new Unsupported('an order by rows of a function')
  return {
    get kind() {
      return target.expr.kind
    },
    work: (frame) => target.expr.work(frame),
  }
}

/** Names are those of tables first. */
function groupExpr(node: Node, targets: readonly Target[], level: Level): Expr {
  const numbered = numberedTarget(node, targets)
  if (numbered) return resultOf(numbered)
  if (!('ColumnRef' in node) || node.ColumnRef.fields?.length !== 1) return exprOf(node, level)
  const name = lastWord(node.ColumnRef.fields)
  const isColumn = level.items.some(({ fields }) => fields.some((field) => field.name === name))
  const target = isColumn ? undefined : targets.find((one) => one.name === name)
  return target ? resultOf(target) : exprOf(node, level)
}

function distinctOf({ distinctClause }: SelectStmt, targets: readonly Target[], level: Level) {
  const on = (distinctClause ?? []).filter((node) => Object.keys(node).length > 0)
  return [distinctClause !== undefined, on.map((node) => sortExpr(node, targets, level))] as const
}

type Parts = {
  readonly targets: readonly Target[]
  readonly reach: Reach | null
  readonly first: readonly Work[]
  readonly having: Work | null
  readonly order: readonly SortKey[]
  /** Null: nothing is summed up. */
  readonly groups: readonly Expr[] | null
  readonly sums: readonly Sum[]
  readonly windows: readonly Window[]
  readonly isDistinct: boolean
  readonly on: readonly Expr[]
  readonly level: Level
  readonly limits: (frame: Frame) => { readonly count: number; readonly offset: number }
}

function finished(parts: Parts): RowsOf {
  const { reach, level, targets, first, order, groups, windows, isDistinct, limits, having } = parts
  const loop = loopOf(reach)
  const project = projection(targets)
  const isStream = !groups && windows.length === 0 && order.length === 0 && !isDistinct && !having
  const kinds = targets.map(({ expr }) => expr.kind)
  return (run, up, atMost) => {
    const frame: Frame = { rows: new Array(level.slots.count), up, run, sums: [] }
    const { count, offset } = limits(frame)
    const most = offset + Math.min(count, atMost)
    const isOpen = most > 0 && first.every((work) => work(frame) === true)
    if (isStream) return isOpen ? streamed(loop, frame, project, most).slice(offset, most) : []
    const entries: Entry[] = []
    for (const at of groupsOf(parts, loop, frame, isOpen)) {
      const keys = order.map(({ expr }) => expr.work(at))
      const on = parts.on.map(({ work }) => work(at))
      for (const row of project(at)) entries.push({ row, keys, on })
    }
    if (order.length > 0) {
      const compare = orderOf(order)
      entries.sort((a, b) => compare(a.keys, b.keys))
    }
    const rows = isDistinct ? differing(entries, parts.on, kinds) : entries.map(({ row }) => row)
    return rows.slice(offset, most)
  }
}

type Entry = { readonly row: Row; readonly keys: readonly Value[]; readonly on: readonly Value[] }

function streamed(loop: Loop, frame: Frame, project: (frame: Frame) => readonly Row[], most: number): readonly Row[] {
  const rows: Row[] = []
  loop(frame, () => {
    for (const row of project(frame)) rows.push(row)
    return rows.length >= most
  })
  return rows
}

function groupsOf(
  { groups, sums, having, windows, reach }: Parts,
  loop: Loop,
  frame: Frame,
  isOpen: boolean,
): readonly Frame[] {
  const found: Group = { loop: isOpen ? loop : () => false, frame, keys: groups, sums }
  const frames = grouped(found, () => (reach ? leavesOf(reach).map(({ item }) => item!.nothing) : []))
  const kept = having ? frames.filter((at) => having(at) === true) : frames
  return windows.length > 0 ? numbered(kept, windows) : kept
}

function differing(entries: readonly Entry[], on: readonly Expr[], kinds: readonly Kind[]): readonly Row[] {
  const seen = new Set<string>()
  const kindAt = (place: number) => (on.length > 0 ? on[place]!.kind : kinds[place]!)
  return entries.flatMap(({ row, on: values }) => {
    const key = keyOf(on.length > 0 ? values : row, kindAt)
    if (seen.has(key)) return []
    seen.add(key)
    return [row]
  })
}

/** One row, or as many as its functions give. */
export function projection(targets: readonly Target[]): (frame: Frame) => readonly Row[] {
  const works = targets.map(({ expr }) => expr.work)
  const sets = targets.map(({ set }) => set)
  const one = (frame: Frame) => works.map((work) => work(frame))
  if (sets.every((set) => set === null)) return (frame) => [one(frame)]
  return (frame) => {
    const row = one(frame)
    const lists = sets.map((set) => set?.rows(frame) ?? null)
    const length = Math.max(...lists.map((list) => list?.length ?? 0))
    return Array.from({ length }, (_, nth) =>
      row.map((value, place) => (lists[place] ? (lists[place][nth]?.[0] ?? null) : value)),
    )
  }
}
