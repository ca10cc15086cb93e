import type { Node, TransactionStmt, VariableSetStmt } from 'libpg-query'
import { statementsIn } from './ast.ts'
import type { Catalogue } from './catalogue.ts'
import { define } from './define.ts'
import type { Field, Kind } from './kinds.ts'
import { TEXT } from './kinds.ts'
import { levelIn, newText, type Run } from './level.ts'
import { modificationOf } from './modification.ts'
import { type Planned, plannedQuery, queryOf } from './query.ts'
import { raised, Unsupported } from './raised.ts'
import type { State, Store } from './state.ts'
import type { Row, Value } from './value.ts'

/** What `pg` answers. */
export type Answer = { readonly command: string; readonly rowCount: number | null; readonly rows: readonly object[] }

export type Session = {
  readonly store: Store
  /** One answer for each statement of the text. */
  ask(text: string, values?: readonly unknown[]): readonly Answer[]
}

/** A statement, made ready once for all its runs. */
type Ready = {
  readonly plan: Planned
  readonly params: readonly Kind[]
  readonly command: string
  readonly writing: readonly Parameters<Run['found']['get']>[0][]
  finish(run: Run): void
}

type Known = { readonly node: Node; ready: Ready | null }

/** One session: one statement after the other, and at most one transaction. */
export function createSession(store: Store): Session {
  const texts: Texts = new WeakMap()
  let before: State | null = null
  let hasFailed = false

  function end(isKept: boolean): string {
    if (before && (!isKept || hasFailed)) store.state = before
    const command = isKept && !hasFailed ? 'COMMIT' : 'ROLLBACK'
    before = null
    hasFailed = false
    store.isReadOnly = false
    store.localSettings.clear()
    return command
  }

  function transaction({ kind, options = [] }: TransactionStmt): Answer {
    if (kind === 'TRANS_STMT_BEGIN') {
      before = store.state
      return begun(store, options)
    }
    if (kind !== 'TRANS_STMT_COMMIT' && kind !== 'TRANS_STMT_ROLLBACK')
      throw new Unsupported('this about a transaction', kind)
    return { command: end(kind === 'TRANS_STMT_COMMIT'), rowCount: null, rows: [] }
  }

  function one(known: Known, text: string, values: readonly unknown[]): Answer {
    const { node } = known
    if ('TransactionStmt' in node) return transaction(node.TransactionStmt)
    if (hasFailed)
      throw raised('25P02', 'current transaction is aborted, commands ignored until end of transaction block')
    if (!before) store.begunAt = store.now()
    const state = store.state
    try {
      return carriedOut(store, known, values)
    } catch (error) {
      store.state = state
      hasFailed = before !== null
      if (error instanceof Unsupported) store.unknown.push(`${error.message} in ${text.trim()}`)
      throw error
    }
  }

  return {
    store,
    ask(text, values = []) {
      const nodes = knownIn(texts, store.state.catalogue, text)
      // Several statements without a transaction are one.
      const state = store.state
      try {
        // Whatever a statement defines is there for the next one, whose plan must know of it.
        return nodes.map((known) => one(nodes.length > 1 ? { node: known.node, ready: null } : known, text, values))
      } catch (error) {
        if (!before) store.state = state
        throw error
      }
    },
  }
}

type Texts = WeakMap<Catalogue, Map<string, readonly Known[]>>

/** What a text says depends on the tables that there are. */
function knownIn(texts: Texts, catalogue: Catalogue, text: string): readonly Known[] {
  const known = texts.get(catalogue) ?? new Map<string, readonly Known[]>()
  texts.set(catalogue, known)
  const nodes = known.get(text) ?? statementsIn(text).map((node) => ({ node, ready: null }))
  known.set(text, nodes)
  return nodes
}

function begun(store: Store, options: readonly Node[]): Answer {
  store.begunAt = store.now()
  for (const option of options) {
    if (!('DefElem' in option)) continue
    const { defname, arg } = option.DefElem
    if (defname === 'transaction_read_only') store.isReadOnly = true
    if (defname === 'transaction_isolation' && arg && 'A_Const' in arg)
      store.localSettings.set('transaction_isolation', arg.A_Const.sval?.sval ?? '')
  }
  return { command: 'BEGIN', rowCount: null, rows: [] }
}

function newRun(store: Store, params: readonly Value[]): Run {
  return { store, params, seen: store.state, found: new Map(), opened: new Set(), later: [], after: [] }
}

function carriedOut(store: Store, known: Known, values: readonly unknown[]): Answer {
  const { node } = known
  if ('VariableSetStmt' in node) return setVariable(store, node.VariableSetStmt)
  if ('VariableShowStmt' in node) return shown(store, node.VariableShowStmt.name!)
  if ('DoStmt' in node) return done(node)
  if (define(node, newRun(store, []))) return { command: 'CREATE', rowCount: null, rows: [] }
  known.ready ??= readyFor(node, store.state.catalogue)
  const { plan, params, command, finish } = known.ready
  const given = params.map((kind, place) => {
    const value = values[place]
    return value === null || value === undefined ? null : kind.take(value)
  })
  const run = newRun(store, given)
  const rows = plan.rows(run, null, Number.POSITIVE_INFINITY)
  finish(run)
  for (const look of run.later) look()
  for (const act of run.after) act()
  return { command, rowCount: rows.length, rows: handedOver(rows, plan.fields, command) }
}

function readyFor(node: Node, catalogue: Catalogue): Ready {
  const text = newText(catalogue)
  const level = levelIn(text, null)
  const modification = modificationOf(node, level)
  const plan = modification ?? plannedQuery(level, () => queryOf(node, level))
  const command = 'InsertStmt' in node ? 'INSERT' : 'UpdateStmt' in node ? 'UPDATE' : modification ? 'DELETE' : 'SELECT'
  const params = Array.from(text.params, (kind) => kind ?? TEXT)
  const { writing } = text
  // Parts that write do so in their order, unless somebody has looked at them before.
  const finish = (run: Run) => {
    for (const part of writing) part.rows(run, null, Number.POSITIVE_INFINITY)
  }
  return { plan, params, command, writing, finish }
}

/** Whoever writes and returns nothing has no rows; a query without columns has rows without any. */
function handedOver(rows: readonly Row[], fields: readonly Field[], command: string): readonly object[] {
  if (fields.length === 0 && command !== 'SELECT') return NO_RETURNING
  return rows.map((row) => {
    const object: Record<string, unknown> = {}
    for (let place = 0; place < fields.length; place++) {
      const value = row[place]!
      object[fields[place]!.name] = value === null ? null : fields[place]!.kind.give(value)
    }
    return object
  })
}

const NO_RETURNING: readonly object[] = []

function setVariable({ settings, localSettings }: Store, { name, args, is_local, kind }: VariableSetStmt): Answer {
  const [value] = args ?? []
  if (kind !== 'VAR_SET_VALUE' || !value || !('A_Const' in value)) throw new Unsupported('this setting', name)
  const { sval, ival } = value.A_Const
  ;(is_local ? localSettings : settings).set(name!, sval?.sval ?? String(ival?.ival ?? 0))
  return { command: 'SET', rowCount: null, rows: [] }
}

function shown({ localSettings }: Store, name: string): Answer {
  if (name !== 'transaction_isolation') throw new Unsupported('this setting', name)
  return { command: 'SHOW', rowCount: null, rows: [{ [name]: localSettings.get(name) ?? 'read committed' }] }
}

/** Somebody raises an error on purpose. */
function done(node: Node): Answer {
  const code = /^.*begin raise exception '[^']*' using errcode = '(\w{5})'; end.*$/s.exec(JSON.stringify(node))?.[1]
  if (!code) throw new Unsupported('this block', node)
  throw raised(code, 'on purpose')
}
