import type { FuncCall, WindowDef } from 'libpg-query'
import { resolved } from './coerce.ts'
import { addNumeric, type Numeric } from './decimal.ts'
import { wrapped } from './document.ts'
import { conditionOf, exprOf } from './expression.ts'
import { BOOL, FLOAT8, INT2, INT4, INT8, inJson, JSONB, type Kind, listOf, NUMERIC } from './kinds.ts'
import type { Expr, Level, Sum, Total } from './level.ts'
import { sortKeysOf } from './order.ts'
import { Unsupported } from './raised.ts'
import type { Value } from './value.ts'

type Summing = { readonly gives: Kind; begin(): Total; readonly takesNull?: boolean }

/** Keeps one value, and makes another of it with each that comes. */
function folding(gives: Kind, first: Value, step: (sum: Value, value: Value) => Value): Summing {
  return {
    gives,
    begin() {
      let sum = first
      return {
        add(value) {
          sum = sum === null ? value : step(sum, value)
        },
        value: () => sum,
      }
    },
  }
}

function counting(): Total {
  let count = 0
  return {
    add() {
      count++
    },
    value: () => BigInt(count),
  }
}

function collecting(gives: Kind, finished: (values: readonly Value[]) => Value): Summing {
  return {
    gives,
    takesNull: true,
    begin() {
      const values: Value[] = []
      return { add: (value) => void values.push(value), value: () => (values.length === 0 ? null : finished(values)) }
    },
  }
}

const SUMMINGS: Readonly<Record<string, (kind: Kind) => Summing>> = {
  count: () => ({ gives: INT8, begin: counting }),
  sum: totalOf,
  min: (kind) => folding(kind, null, (a, b) => (kind.compare(a, b) <= 0 ? a : b)),
  max: (kind) => folding(kind, null, (a, b) => (kind.compare(a, b) >= 0 ? a : b)),
  bool_or: () => folding(BOOL, null, (a, b) => a === true || b === true),
  bool_and: () => folding(BOOL, null, (a, b) => a === true && b === true),
  bit_xor: (kind) => {
    if (kind !== INT8) throw new Unsupported('this sum of bits', kind.name)
    return folding(INT8, null, (a, b) => (a as bigint) ^ (b as bigint))
  },
  array_agg: (kind) => collecting(listOf(kind), (values) => values),
  jsonb_agg: (kind) => collecting(JSONB, (values) => wrapped(values.map((value) => inJson(value, kind)))),
}

/** A sum of `int4` is an `int8`, and one of those a `numeric`. */
function totalOf(kind: Kind): Summing {
  if (kind === FLOAT8) return folding(FLOAT8, null, (a, b) => (a as number) + (b as number))
  if (kind === NUMERIC) return folding(NUMERIC, null, (a, b) => addNumeric(a as Numeric, b as Numeric))
  const gives = kind === INT8 ? NUMERIC : INT8
  if (![INT2, INT4, INT8].includes(kind)) throw new Unsupported('the sum of this kind', kind.name)
  const whole = folding(gives, 0n, (a, b) => (a as bigint) + BigInt(b as number | bigint))
  return { ...whole, begin: () => nullIfEmpty(whole.begin()) }
}

function nullIfEmpty(total: Total): Total {
  let isEmpty = true
  return {
    add(value) {
      isEmpty = false
      total.add(value)
    },
    value: () => (isEmpty ? null : total.value()),
  }
}

export const isSum = (name: string) => Object.hasOwn(SUMMINGS, name)

export function sumExpr(name: string, node: FuncCall, level: Level): Expr {
  const { sums } = level
  if (!sums || node.agg_order || node.agg_within_group) throw new Unsupported('this sum', node)
  // Sums of sums there are none.
  level.sums = null
  const argument = node.agg_star ? null : resolved(exprOf(node.args![0]!, level), level.text)
  const filter = node.agg_filter ? conditionOf(node.agg_filter, level).work : null
  level.sums = sums
  const { gives, begin, takesNull } = SUMMINGS[name]!(argument?.kind ?? INT4)
  const kind = argument?.kind
  const each = node.agg_distinct ? () => once(begin(), kind!) : begin
  const sum: Sum = {
    begin: takesNull || !argument ? each : () => leavingNull(each()),
    filter,
    argument: argument?.work ?? null,
  }
  const place = sums.push(sum) - 1
  return { kind: gives, work: ({ sums }) => sums[place]! }
}

function leavingNull(total: Total): Total {
  return {
    add(value) {
      if (value !== null) total.add(value)
    },
    value: total.value,
  }
}

function once(total: Total, kind: Kind): Total {
  const seen = new Set<unknown>()
  return {
    add(value) {
      const key = value === null ? null : kind.key(value)
      if (seen.has(key)) return
      seen.add(key)
      total.add(value)
    },
    value: total.value,
  }
}

export function windowExpr(name: string, { partitionClause, orderClause, name: named }: WindowDef, level: Level): Expr {
  const { windows } = level
  if (!windows || name !== 'row_number' || named) throw new Unsupported('this window', name)
  const partition = (partitionClause ?? []).map((node) => exprOf(node, level))
  const order = sortKeysOf(orderClause, (node) => exprOf(node, level))
  const place = windows.push({ partition, order }) - 1
  return { kind: INT8, work: ({ sums }) => sums[place]! }
}
