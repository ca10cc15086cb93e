import type { AlterTableCmd, ColumnDef, Constraint, CreateStmt, CreateTrigStmt, IndexStmt, Node } from 'libpg-query'
import { columnsIn, lastWord, typeOf, wordsOf } from './ast.ts'
import {
  type Catalogue,
  type Column,
  type Event,
  type ForeignKey,
  type Table,
  tableNamed,
  withTable,
} from './catalogue.ts'
import type { Run } from './level.ts'
import { raised, Unsupported } from './raised.ts'
import { knownRoutine } from './routines.ts'
import { frameOf, rulesOf } from './rules.ts'
import type { Row } from './value.ts'
import { demandRules } from './write.ts'

/** A statement that changes what there is. False: it is another one. */
export function define(node: Node, run: Run): boolean {
  const { catalogue } = run.store.state
  if ('CreateStmt' in node) createTable(node.CreateStmt, run)
  else if ('AlterTableStmt' in node) {
    const name = node.AlterTableStmt.relation!.relname!
    for (const cmd of node.AlterTableStmt.cmds ?? [])
      if ('AlterTableCmd' in cmd) alterTable(cmd.AlterTableCmd, name, run)
  } else if ('IndexStmt' in node) createIndex(node.IndexStmt, run)
  else if ('CreateTrigStmt' in node) createTrigger(node.CreateTrigStmt, run)
  else if ('CreateFunctionStmt' in node) {
    const { funcname, options = [] } = node.CreateFunctionStmt
    const body = options
      .map((one) => ('DefElem' in one && one.DefElem.defname === 'as' ? one.DefElem.arg : undefined))
      .find(Boolean)
    const name = knownRoutine(lastWord(funcname), body && 'List' in body ? wordsOf(body.List.items)[0]! : '')
    setCatalogue(run, { ...catalogue, routines: new Set(catalogue.routines).add(name) })
  } else if ('DropStmt' in node && node.DropStmt.removeType === 'OBJECT_INDEX') {
    for (const one of node.DropStmt.objects ?? []) if ('List' in one) dropIndex(lastWord(one.List.items), run)
  } else if ('DropStmt' in node) {
    for (const one of node.DropStmt.objects ?? []) drop(node.DropStmt.removeType!, one, run)
  } else return false
  return true
}

function setCatalogue(run: Run, catalogue: Catalogue): void {
  run.store.state = { ...run.store.state, catalogue }
}

function setTable(run: Run, table: Table): void {
  setCatalogue(run, withTable(run.store.state.catalogue, table))
}

function setRows(run: Run, { id }: Table, rows: readonly Row[]): void {
  const { state } = run.store
  run.store.state = { ...state, heaps: state.heaps.with(id, { rows, lookups: new Map() }) }
}

function createTable({ relation, tableElts = [], if_not_exists }: CreateStmt, run: Run): void {
  const name = relation!.relname!
  const { catalogue, heaps } = run.store.state
  if (catalogue.tables.has(name)) {
    if (if_not_exists) return
    throw raised('42P07', `relation "${name}" already exists`)
  }
  const empty: Table = { id: heaps.length, name, columns: [], uniques: [], checks: [], foreignKeys: [], triggers: [] }
  run.store.state = { catalogue: withTable(catalogue, empty), heaps: [...heaps, { rows: [], lookups: new Map() }] }
  // Columns first: a rule of the table may name any of them.
  const columns = tableElts.flatMap((node) => ('ColumnDef' in node ? [node.ColumnDef] : []))
  for (const column of columns) addColumn(column, name, run)
  for (const node of tableElts) if ('Constraint' in node) addConstraint(node.Constraint, name, run)
}

const IGNORED = new Set(['CONSTR_NULL', 'CONSTR_IDENTITY', 'CONSTR_NOTNULL', 'CONSTR_DEFAULT'])

function addColumn({ colname, typeName, constraints = [] }: ColumnDef, name: string, run: Run): void {
  const table = tableNamed(run.store.state.catalogue, name)
  const all = constraints.flatMap((one) => ('Constraint' in one ? [one.Constraint] : []))
  const of = (type: string) => all.find(({ contype }) => contype === type)
  const identity = of('CONSTR_IDENTITY')
  const column: Column = {
    name: colname!,
    ...typeOf(typeName),
    isRequired: Boolean(of('CONSTR_NOTNULL') ?? of('CONSTR_PRIMARY') ?? identity),
    byDefault: of('CONSTR_DEFAULT')?.raw_expr ?? null,
    identity: identity ? { sequence: `${name}_${colname}_seq`, isAlways: identity.generated_when === 'a' } : null,
  }
  const wider = { ...table, columns: [...table.columns, column] }
  setTable(run, wider)
  const value = rulesOf(wider).defaults.at(-1)!.work(frameOf(run))
  const { rows } = run.store.state.heaps[table.id]!
  setRows(
    run,
    table,
    rows.map((row) => [...row, value]),
  )
  for (const constraint of all) if (!IGNORED.has(constraint.contype!)) addConstraint(constraint, name, run, colname)
}

function addConstraint(node: Constraint, name: string, run: Run, column?: string): void {
  setTable(run, constrained(tableNamed(run.store.state.catalogue, name), node, column))
}

function constrained(table: Table, node: Constraint, column?: string): Table {
  const { name } = table
  const { contype, conname, raw_expr } = node
  const keys = column === undefined ? wordsOf(node.keys ?? node.fk_attrs) : [column]
  const named = (suffix: string, ...words: readonly string[]) =>
    conname ?? freeName([name, ...words, suffix].join('_'), table)
  const elements = keys.map((key) => ({ name: key }))
  switch (contype) {
    case 'CONSTR_CHECK': {
      const mentioned = [...columnsIn(raw_expr)]
      const about = column === undefined ? (mentioned.length === 1 ? mentioned : []) : [column]
      return { ...table, checks: [...table.checks, { name: named('check', ...about), rule: raw_expr! }] }
    }
    case 'CONSTR_PRIMARY': {
      const unique = { name: named('pkey'), elements, where: null, isPrimary: true }
      const columns = table.columns.map((one) => (keys.includes(one.name) ? { ...one, isRequired: true } : one))
      return { ...table, columns, uniques: [...table.uniques, unique] }
    }
    case 'CONSTR_UNIQUE': {
      const unique = { name: named('key', ...keys), elements, where: null, isPrimary: false }
      return { ...table, uniques: [...table.uniques, unique] }
    }
    case 'CONSTR_FOREIGN': {
      if (!['a', 'c'].includes(node.fk_del_action ?? 'a') || (node.fk_upd_action ?? 'a') !== 'a')
        throw new Unsupported('this foreign key', node)
      const key: ForeignKey = {
        name: named('fkey', ...keys),
        columns: keys,
        parent: node.pktable!.relname!,
        parentColumns: wordsOf(node.pk_attrs),
        cascades: node.fk_del_action === 'c',
      }
      return { ...table, foreignKeys: [...table.foreignKeys, key] }
    }
    default:
      throw new Unsupported('this constraint', node)
  }
}

/** The server numbers the second of a name. */
function freeName(name: string, { checks, uniques, foreignKeys }: Table): string {
  const taken = new Set([...checks, ...uniques, ...foreignKeys].map((one) => one.name))
  for (let nth = 0; ; nth++) {
    const free = nth === 0 ? name : `${name}${nth}`
    if (!taken.has(free)) return free
  }
}

function alterTable({ subtype, name: about, def }: AlterTableCmd, name: string, run: Run): void {
  const table = tableNamed(run.store.state.catalogue, name)
  const changed = (change: Partial<Column>) =>
    setTable(run, { ...table, columns: table.columns.map((one) => (one.name === about ? { ...one, ...change } : one)) })
  switch (subtype) {
    case 'AT_AddColumn':
      if (!def || !('ColumnDef' in def)) throw new Unsupported('this column', def)
      addColumn(def.ColumnDef, name, run)
      break
    case 'AT_DropColumn':
      dropColumn(table, about!, run)
      break
    case 'AT_AddConstraint':
      if (!def || !('Constraint' in def)) throw new Unsupported('this constraint', def)
      addConstraint(def.Constraint, name, run)
      demandAll(name, run)
      break
    case 'AT_DropConstraint':
      dropConstraint(table, about!, run)
      break
    case 'AT_ColumnDefault':
      changed({ byDefault: def ?? null })
      break
    case 'AT_DropNotNull':
      changed({ isRequired: false })
      break
    case 'AT_SetNotNull':
      changed({ isRequired: true })
      demandAll(name, run)
      break
    default:
      throw new Unsupported('this change of a table', subtype)
  }
}

/** What is there already must do as well. */
function demandAll(name: string, run: Run): void {
  const table = tableNamed(run.store.state.catalogue, name)
  for (const row of run.store.state.heaps[table.id]!.rows) demandRules(run, table, row)
}

/** With it go its rules, and the indexes that are about it. */
function dropColumn(table: Table, about: string, run: Run): void {
  const place = table.columns.findIndex(({ name }) => name === about)
  const isFree = (node: unknown) => !columnsIn(node).has(about)
  setTable(run, {
    ...table,
    columns: table.columns.toSpliced(place, 1),
    checks: table.checks.filter(({ rule }) => isFree(rule)),
    uniques: table.uniques.filter(
      ({ elements, where }) => isFree([elements, where]) && elements.every(({ name }) => name !== about),
    ),
    foreignKeys: table.foreignKeys.filter(({ columns }) => !columns.includes(about)),
  })
  const { rows } = run.store.state.heaps[table.id]!
  setRows(
    run,
    table,
    rows.map((row) => row.toSpliced(place, 1)),
  )
}

function dropConstraint(table: Table, about: string, run: Run): void {
  const others = <One extends { readonly name: string }>(list: readonly One[]) =>
    list.filter(({ name }) => name !== about)
  const [checks, uniques, foreignKeys] = [others(table.checks), others(table.uniques), others(table.foreignKeys)]
  const left = checks.length + uniques.length + foreignKeys.length
  if (left === table.checks.length + table.uniques.length + table.foreignKeys.length)
    throw raised('42704', `constraint "${about}" of relation "${table.name}" does not exist`)
  setTable(run, { ...table, checks, uniques, foreignKeys })
}

/** An index that is not unique only makes things faster. */
function createIndex({ idxname, relation, indexParams = [], whereClause, unique }: IndexStmt, run: Run): void {
  const { catalogue } = run.store.state
  if (!unique) {
    setCatalogue(run, { ...catalogue, indexes: new Set(catalogue.indexes).add(idxname!) })
    return
  }
  const table = tableNamed(catalogue, relation!.relname!)
  const elements = indexParams.flatMap((node) => ('IndexElem' in node ? [node.IndexElem] : []))
  const rule = { name: idxname!, elements, where: whereClause ?? null, isPrimary: false }
  setTable(run, { ...table, uniques: [...table.uniques, rule] })
}

/** Nothing that is left may speak of it. A function is known by its text, so it stays. */
function drop(kind: string, node: Node, run: Run): void {
  const { catalogue } = run.store.state
  const words = 'List' in node ? wordsOf(node.List.items) : []
  if (kind === 'OBJECT_TRIGGER') {
    const table = tableNamed(catalogue, words.at(-2)!)
    setTable(run, { ...table, triggers: table.triggers.filter(({ name }) => name !== words.at(-1)) })
  } else if (kind === 'OBJECT_TABLE') {
    const tables = new Map(catalogue.tables)
    if (!tables.delete(words.at(-1)!)) throw new Unsupported('this table', node)
    setCatalogue(run, { ...catalogue, tables })
  } else if (kind !== 'OBJECT_FUNCTION') throw new Unsupported('what is dropped', node)
}

/** One that is not there went with a column that it was about. */
function dropIndex(name: string, run: Run): void {
  const { catalogue } = run.store.state
  const table = [...catalogue.tables.values()].find(({ uniques }) => uniques.some((one) => one.name === name))
  const indexes = new Set(catalogue.indexes)
  indexes.delete(name)
  if (table) setTable(run, { ...table, uniques: table.uniques.filter((one) => one.name !== name) })
  else setCatalogue(run, { ...catalogue, indexes })
}

/** What the bits of a trigger mean. */
const EVENTS: readonly (readonly [number, Event])[] = [
  [4, 'insert'],
  [8, 'delete'],
  [16, 'update'],
]
const TRUNCATE = 32

function createTrigger(node: CreateTrigStmt, run: Run): void {
  const { trigname, relation, funcname, row, timing = 0, events: bits = 0, columns, whenClause } = node
  if (bits === TRUNCATE) return
  if (!row || (timing !== 0 && timing !== 2)) throw new Unsupported('this trigger', node)
  const table = tableNamed(run.store.state.catalogue, relation!.relname!)
  const trigger = {
    name: trigname!,
    isBefore: timing === 2,
    events: EVENTS.flatMap(([bit, event]) => (bits & bit ? [event] : [])),
    columns: wordsOf(columns),
    when: whenClause ?? null,
    routine: lastWord(funcname),
  }
  setTable(run, { ...table, triggers: [...table.triggers, trigger].toSorted((a, b) => (a.name < b.name ? -1 : 1)) })
}
