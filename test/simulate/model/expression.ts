import type {
  A_Const,
  A_Expr,
  BoolExpr,
  BooleanTest,
  CaseExpr,
  FuncCall,
  MinMaxExpr,
  Node,
  NullTest,
} from 'libpg-query'
import { lastWord, typeOf } from './ast.ts'
import { coerced, commonKind, constant, paramExpr, scaled, unified } from './coerce.ts'
import { parseNumeric } from './decimal.ts'
import { functionExpr } from './functions.ts'
import { BOOL, INT4, INT8, listOf, NUMERIC, TEXT, TIMESTAMPTZ, UNKNOWN } from './kinds.ts'
import { columnExpr, type Expr, type Level, type Work } from './level.ts'
import { binary, comparer, comparison, distinct, isLike, negative, strict } from './operators.ts'
import { Unsupported } from './raised.ts'
import { rowsCompared, sublinkExpr } from './sublink.ts'
import { isSum, sumExpr, windowExpr } from './sums.ts'
import type { Row, Value } from './value.ts'

/** An expression as it stands, made ready to be worked out again and again. */
export function exprOf(node: Node, level: Level): Expr {
  const { text } = level
  if ('ColumnRef' in node) return columnExpr(node.ColumnRef, level)
  if ('ParamRef' in node) return parameter((node.ParamRef.number ?? 0) - 1, level)
  if ('A_Const' in node) return literal(node.A_Const)
  if ('A_Expr' in node) return operation(node.A_Expr, level)
  if ('BoolExpr' in node) return logical(node.BoolExpr, level)
  if ('FuncCall' in node) return call(node.FuncCall, level)
  if ('SubLink' in node) return sublinkExpr(node.SubLink, level)
  if ('NullTest' in node) return nullTest(node.NullTest, level)
  if ('BooleanTest' in node) return booleanTest(node.BooleanTest, level)
  if ('CaseExpr' in node) return chosen(node.CaseExpr, level)
  if ('CoalesceExpr' in node) return coalesced(eachOf(node.CoalesceExpr.args, level), level)
  if ('MinMaxExpr' in node) return extreme(node.MinMaxExpr, level)
  if ('A_ArrayExpr' in node) return listed(eachOf(node.A_ArrayExpr.elements, level), level)
  if ('SQLValueFunction' in node && node.SQLValueFunction.op === 'SVFOP_CURRENT_TIMESTAMP')
    return { kind: TIMESTAMPTZ, work: ({ run }) => run.store.begunAt }
  if ('TypeCast' in node) {
    const { kind, scale } = typeOf(node.TypeCast.typeName)
    return scaled(coerced(exprOf(node.TypeCast.arg!, level), kind, text, 'explicit'), scale)
  }
  throw new Unsupported('this expression', node)
}

export const eachOf = (nodes: readonly Node[] | undefined, level: Level) =>
  (nodes ?? []).map((node) => exprOf(node, level))

/** A condition: true, false or not known. */
export const conditionOf = (node: Node, level: Level) => coerced(exprOf(node, level), BOOL, level.text)

function parameter(param: number, { text }: Level): Expr {
  const kind = text.params[param] ?? null
  text.params[param] = kind
  return kind ? paramExpr(param, kind) : { kind: UNKNOWN, param, work: ({ run }) => run.params[param]! }
}

function literal({ ival, fval, boolval, sval, isnull }: A_Const): Expr {
  if (isnull) return { kind: UNKNOWN, literal: null, work: () => null, isConstant: true }
  if (sval) return { kind: UNKNOWN, literal: sval.sval ?? '', work: () => sval.sval ?? '', isConstant: true }
  if (boolval) return constant(BOOL, boolval.boolval ?? false)
  if (ival) return constant(INT4, ival.ival ?? 0)
  if (!fval) throw new Unsupported('this constant')
  const number = parseNumeric(fval.fval ?? '0')
  const isInt8 = typeof number === 'bigint' && BigInt.asIntN(64, number) === number && /^\d+$/.test(fval.fval ?? '')
  return constant(isInt8 ? INT8 : NUMERIC, number)
}

function operation(node: A_Expr, level: Level): Expr {
  const { kind, lexpr, rexpr } = node
  const operator = lastWord(node.name)
  const { text } = level
  switch (kind) {
    case 'AEXPR_OP': {
      if (!lexpr && operator === '-') return negative(exprOf(rexpr!, level), text)
      const rows = lexpr && 'RowExpr' in lexpr ? rowsCompared(operator, lexpr.RowExpr, rexpr!, level) : null
      return rows ?? binary(operator, exprOf(lexpr!, level), exprOf(rexpr!, level), text)
    }
    case 'AEXPR_OP_ANY':
    case 'AEXPR_OP_ALL':
      return overList(node, level)
    case 'AEXPR_IN':
      return within(node, level)
    case 'AEXPR_LIKE': {
      const [word, pattern] = [lexpr!, rexpr!].map((side) => coerced(exprOf(side, level), TEXT, text))
      return strict(BOOL, word!, pattern!, (a, b) => isLike(a as string, b as string) === (operator === '~~'))
    }
    case 'AEXPR_DISTINCT':
      return distinct(exprOf(lexpr!, level), exprOf(rexpr!, level), text)
    case 'AEXPR_NOT_DISTINCT': {
      const { work } = distinct(exprOf(lexpr!, level), exprOf(rexpr!, level), text)
      return { kind: BOOL, work: (frame) => !work(frame) }
    }
    case 'AEXPR_BETWEEN': {
      if (!rexpr || !('List' in rexpr)) throw new Unsupported('this between', node)
      const [low, high] = eachOf(rexpr.List.items, level)
      const value = exprOf(lexpr!, level)
      return both([comparison('>=', value, low!, text), comparison('<=', value, high!, text)], 'AND_EXPR')
    }
    default:
      throw new Unsupported('this operation', node)
  }
}

/** `= any (list)` and `<> all (list)`. */
function overList({ kind, lexpr, rexpr, name }: A_Expr, level: Level): Expr {
  const operator = lastWord(name)
  const isAny = kind === 'AEXPR_OP_ANY'
  const [left, right] = [exprOf(lexpr!, level), exprOf(rexpr!, level)]
  const element = commonKind([left.kind, right.kind.element ?? UNKNOWN])
  const [value, list] = [coerced(left, element, level.text), coerced(right, listOf(element), level.text)]
  const holds = comparer(operator, element)
  return strict(BOOL, { ...value, isConstant: false }, list, (a, b) => decided(b as Row, isAny, (one) => holds(a, one)))
}

/** Whether it holds for any, or for all: what holds for null is not known. */
function decided(list: Row, isAny: boolean, holds: (one: Value) => boolean): boolean | null {
  let isUnknown = false
  for (const one of list) {
    if (one === null) isUnknown = true
    else if (holds(one) === isAny) return isAny
  }
  return isUnknown ? null : !isAny
}

function within({ lexpr, rexpr, name }: A_Expr, level: Level): Expr {
  if (!rexpr || !('List' in rexpr)) throw new Unsupported('this list', rexpr)
  const isIn = lastWord(name) === '='
  const items = rexpr.List.items ?? []
  if (lexpr && 'RowExpr' in lexpr) {
    const row = lexpr.RowExpr
    const each = items.map((item) => rowsCompared('=', row, item, level))
    const any = both(each as readonly Expr[], 'OR_EXPR')
    return isIn ? any : negated(any)
  }
  const exprs = [exprOf(lexpr!, level), ...eachOf(items, level)]
  const { kind, works } = unified(exprs, level.text)
  const [value, ...others] = works
  const holds = comparer('=', kind)
  const work: Work = (frame) => {
    const a = value!(frame)
    if (a === null) return null
    let isUnknown = false
    for (const other of others) {
      const b = other(frame)
      if (b === null) isUnknown = true
      else if (holds(a, b)) return isIn
    }
    return isUnknown ? null : !isIn
  }
  return { kind: BOOL, work }
}

export function negated({ work }: Expr): Expr {
  return {
    kind: BOOL,
    work(frame) {
      const value = work(frame)
      return value === null ? null : !value
    },
  }
}

function logical({ boolop, args = [] }: BoolExpr, level: Level): Expr {
  const parts = args.map((arg) => conditionOf(arg, level))
  return boolop === 'NOT_EXPR' ? negated(parts[0]!) : both(parts, boolop)
}

/** And: false decides. Or: true does. */
function both(parts: readonly Expr[], operator: string | undefined): Expr {
  const decisive = operator === 'OR_EXPR'
  const works = parts.map(({ work }) => work)
  return {
    kind: BOOL,
    work(frame) {
      let isUnknown = false
      for (const work of works) {
        const value = work(frame)
        if (value === decisive) return decisive
        if (value === null) isUnknown = true
      }
      return isUnknown ? null : !decisive
    },
  }
}

function nullTest({ arg, nulltesttype }: NullTest, level: Level): Expr {
  const { kind, work } = exprOf(arg!, level)
  const isNull = nulltesttype === 'IS_NULL'
  if (!kind.fields) return { kind: BOOL, work: (frame) => (work(frame) === null) === isNull }
  // A row is null when all of it is, and not null when nothing of it is.
  return {
    kind: BOOL,
    work(frame) {
      const row = work(frame) as Row | null
      return row === null ? isNull : row.every((one) => (one === null) === isNull)
    },
  }
}

/** What a test may find, of true, false and unknown. */
const FOUND: Readonly<Record<NonNullable<BooleanTest['booltesttype']>, readonly Value[]>> = {
  IS_TRUE: [true],
  IS_NOT_TRUE: [false, null],
  IS_FALSE: [false],
  IS_NOT_FALSE: [true, null],
  IS_UNKNOWN: [null],
  IS_NOT_UNKNOWN: [true, false],
}

function booleanTest({ arg, booltesttype }: BooleanTest, level: Level): Expr {
  const { work } = exprOf(arg!, level)
  const found = FOUND[booltesttype!]
  return { kind: BOOL, work: (frame) => found.includes(work(frame)) }
}

function chosen({ arg, args = [], defresult }: CaseExpr, level: Level): Expr {
  const whens = args.map((when) => {
    if (!('CaseWhen' in when)) throw new Unsupported('this case', when)
    return when.CaseWhen
  })
  const subject = arg ? exprOf(arg, level) : null
  const conditions = whens.map(({ expr }) =>
    subject ? comparison('=', subject, exprOf(expr!, level), level.text).work : conditionOf(expr!, level).work,
  )
  const results = whens.map(({ result }) => exprOf(result!, level))
  const otherwise = defresult ? exprOf(defresult, level) : literal({ isnull: true })
  const { kind, works } = unified([...results, otherwise], level.text)
  const last = works.length - 1
  return {
    kind,
    work(frame) {
      for (let place = 0; place < last; place++) if (conditions[place]!(frame) === true) return works[place]!(frame)
      return works[last]!(frame)
    },
  }
}

function coalesced(parts: readonly Expr[], { text }: Level): Expr {
  const { kind, works } = unified(parts, text)
  return {
    kind,
    work(frame) {
      for (const work of works) {
        const value = work(frame)
        if (value !== null) return value
      }
      return null
    },
  }
}

/** Greatest and least leave null out. */
function extreme({ op, args }: MinMaxExpr, level: Level): Expr {
  const { kind, works } = unified(eachOf(args, level), level.text)
  const sign = op === 'IS_GREATEST' ? 1 : -1
  return {
    kind,
    work(frame) {
      let best: Value = null
      for (const work of works) {
        const value = work(frame)
        if (value !== null && (best === null || kind.compare(value, best) * sign > 0)) best = value
      }
      return best
    },
  }
}

function listed(elements: readonly Expr[], { text }: Level): Expr {
  const { kind, works } = unified(elements, text)
  return { kind: listOf(kind), work: (frame) => works.map((work) => work(frame)) }
}

function call(node: FuncCall, level: Level): Expr {
  const name = lastWord(node.funcname)
  if (node.over) return windowExpr(name, node.over, level)
  if (isSum(name)) return sumExpr(name, node, level)
  if (node.agg_filter || node.agg_order || node.agg_distinct || node.func_variadic || node.agg_star)
    throw new Unsupported('this call', node)
  const args = (node.args ?? []).map((arg) => {
    if (!('NamedArgExpr' in arg)) return exprOf(arg, level)
    if (node.args!.length > 1) throw new Unsupported('this named argument', arg)
    return exprOf(arg.NamedArgExpr.arg!, level)
  })
  const named = (node.args ?? []).map((arg) => ('NamedArgExpr' in arg ? ` ${arg.NamedArgExpr.name}` : ''))
  return functionExpr(name + named.join(''), args, level.text)
}
