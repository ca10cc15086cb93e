import type { FuncCall, Node, RangeFunction } from 'libpg-query'
import { lastWord, typeOf, wordsOf } from './ast.ts'
import { coerced, resolved } from './coerce.ts'
import { elementsOf, memberOf, textIn, wrapped } from './document.ts'
import { eachOf } from './expression.ts'
import { type Field, INT4, JSONB, type Kind, TEXT } from './kinds.ts'
import type { Expr, Frame, Level } from './level.ts'
import { Unsupported } from './raised.ts'
import type { Json, Row, Value } from './value.ts'

/** A function that gives rows. */
export type RowSource = { readonly fields: readonly Field[]; rows(frame: Frame): readonly Row[] }

const NAMES = new Set(['unnest', 'jsonb_array_elements', 'jsonb_to_recordset', 'jsonb_to_record', 'generate_series'])

export const givesRows = (name: string) => NAMES.has(name)

/** In a `from`, with the names that it gets there. */
export function rangeFunction(node: RangeFunction, level: Level): RowSource & { readonly name: string } {
  const { functions = [], alias, ordinality, coldeflist } = node
  const [first] = functions
  if (ordinality || functions.length !== 1 || !first || !('List' in first)) throw new Unsupported('this function', node)
  const call = first.List.items?.[0]
  if (!call || !('FuncCall' in call)) throw new Unsupported('this function', node)
  const source = rowFunction(call.FuncCall, level, coldeflist ?? [])
  const given = wordsOf(alias?.colnames)
  const name = alias?.aliasname ?? lastWord(call.FuncCall.funcname)
  const isSingle = source.fields.length === 1 && !coldeflist
  const fields = source.fields.map((field, place) => ({
    ...field,
    name: given[place] ?? (isSingle ? name : field.name),
  }))
  return { ...source, fields, name }
}

export function rowFunction(call: FuncCall, level: Level, columns: readonly Node[] = []): RowSource {
  const name = lastWord(call.funcname)
  const args = eachOf(call.args, level)
  const { text } = level
  switch (name) {
    case 'unnest':
      return unnested(args.map((arg) => resolved(arg, text)))
    case 'jsonb_array_elements': {
      const { work } = coerced(args[0]!, JSONB, text)
      return single('value', JSONB, (frame) => elementsOf(jsonOf(work(frame)) ?? []).map((json) => wrapped(json)))
    }
    case 'jsonb_to_recordset':
    case 'jsonb_to_record':
      return recordsOf(coerced(args[0]!, JSONB, text), columns, name === 'jsonb_to_record')
    case 'generate_series': {
      const [from, to] = args.map((arg) => coerced(arg, INT4, text).work)
      return single('generate_series', INT4, (frame) => numbers(from!(frame) as number, to!(frame) as number))
    }
    default:
      throw new Unsupported('this function of rows', name)
  }
}

const numbers = (from: number, to: number) => Array.from({ length: Math.max(0, to - from + 1) }, (_, nth) => from + nth)

const jsonOf = (value: Value) => (value === null ? null : (value as Json).json)

function single(name: string, kind: Kind, values: (frame: Frame) => readonly Value[]): RowSource {
  return { fields: [{ name, kind }], rows: (frame) => values(frame).map((value) => [value]) }
}

/** Lists side by side; the shorter ones end in null. */
function unnested(lists: readonly Expr[]): RowSource {
  const fields = lists.map(({ kind }) => {
    if (!kind.element) throw new Unsupported('unnest of something that is no list', kind.name)
    return { name: 'unnest', kind: kind.element }
  })
  return {
    fields,
    rows(frame) {
      const all = lists.map(({ work }) => (work(frame) ?? []) as Row)
      const length = Math.max(...all.map((list) => list.length))
      return Array.from({ length }, (_, nth) => all.map((list) => list[nth] ?? null))
    },
  }
}

function recordsOf({ work }: Expr, columns: readonly Node[], isOne: boolean): RowSource {
  const fields = columns.map((column): Field => {
    if (!('ColumnDef' in column)) throw new Unsupported('this column', column)
    return { name: column.ColumnDef.colname!, kind: typeOf(column.ColumnDef.typeName).kind }
  })
  const row = (json: unknown) => fields.map(({ name, kind }) => fromJson(memberOf(json, name), kind))
  return {
    fields,
    rows(frame) {
      const value = work(frame)
      if (isOne) return [row(jsonOf(value))]
      return value === null ? [] : elementsOf(jsonOf(value)).map(row)
    },
  }
}

/** What a document says, as a value of this kind. */
function fromJson(json: unknown, kind: Kind): Value {
  if (json === undefined || json === null) return null
  if (kind === JSONB) return { json }
  if (kind.element) return elementsOf(json).map((one) => fromJson(one, kind.element!))
  const text = textIn(json)!
  return kind === TEXT ? text : kind.parse(text)
}
