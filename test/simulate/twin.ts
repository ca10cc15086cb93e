import type { Database, Queryable, Result, Transaction } from '../../src/store/db.ts'
import type { Statement } from '../../src/store/statement.ts'
import { openMemoryStore, type StoreTime } from './engine.ts'
import { gateOf } from './gate.ts'
import { likeness } from './likeness.ts'
import { statementsIn, wordsOf } from './model/ast.ts'
import type { Session } from './model/session.ts'
import { foundModel } from './modelled.ts'
import type { SimStore } from './store.ts'
import { gatedDatabase } from './store-gate.ts'

/** What is told of one universe. */
const TOLD_MAX = 5
/** So often the tables that a statement has changed are looked at, and not only what it returned. */
const LOOK_EVERY = 8

/**
 * On the engine and on the model of it: every statement is asked of both. What the engine says counts, and whatever the model says otherwise
 * is a violation, as is a table that is not the same in the end.
 */
export async function openTwinStore(time: StoreTime, furnish: (db: Database) => Promise<void>): Promise<SimStore> {
  const engine = await openMemoryStore(time, furnish)
  let uuids = 0
  const uuid = () => `00000000-0000-4000-8000-${String(++uuids).padStart(12, '0')}`
  const model = await foundModel({ time, furnish, uuid })
  const told: string[] = []
  const twins = twinOf(engine.db, model.session, (difference) => told.length < TOLD_MAX && told.push(difference))
  const { db } = twins
  const bare = new Set([...engine.bare].filter((table) => model.bare.has(table)))
  return {
    db,
    bare,
    async reset() {
      told.length = 0
      twins.forget()
      await Promise.all([engine.reset(), model.reset()])
    },
    async backUp() {
      await Promise.all([engine.backUp(), model.backUp()])
    },
    async restore() {
      await Promise.all([engine.restore(), model.restore()])
    },
    open: ({ sim, actor, wires, mishap, memory }) =>
      gatedDatabase({ sim, db, outside: db, bare, gate: gateOf(sim, actor, wires, mishap), memory }),
    hangUp: async () => {},
    async differences() {
      for (const table of model.session.store.state.catalogue.tables.keys())
        if (table !== 'schema_migrations') await db.query(`select * from ${table}`)
      return told.splice(0)
    },
    close: () => engine.close(),
  }
}

type Outcome = { readonly rows: readonly object[]; readonly count: number | null } | { readonly error: unknown }

type Twins = { readonly db: Database; forget(): void }

/** Asks both, and answers what the first one says. */
function twinOf(engine: Database, session: Session, say: (difference: string) => void): Twins {
  const alike = likeness()
  const { store } = session
  let writes = 0

  function compare(text: string, values: readonly unknown[], theirs: Outcome): void {
    const ours = outcomeOf(session, text, alike.translated(values))
    const difference = alike.difference(theirs, ours, orderIn(text))
    if (difference) say(`the model differs: ${difference}\n  in ${text.trim()}\n  of ${JSON.stringify(values)}`)
  }

  /** Tables that the model has changed since it was so. */
  function changedSince({ heaps }: typeof store.state): readonly string[] {
    const changed = [...store.state.catalogue.tables.values()].filter(({ id }) => store.state.heaps[id] !== heaps[id])
    return changed.length > 0 && ++writes % LOOK_EVERY === 0 ? changed.map(({ name }) => name) : []
  }

  async function both<Row>(
    to: Queryable,
    sql: Statement<Row> | string,
    values: readonly unknown[] = [],
  ): Promise<Result<Row>> {
    const text = typeof sql === 'string' ? sql : sql.text
    try {
      const result = await to.query(sql, values)
      const before = store.state
      compare(text, values, { rows: result.rows as readonly object[], count: result.rowCount })
      for (const table of changedSince(before)) {
        const look = `select * from ${table}`
        const { rows, rowCount } = await to.query<object>(look)
        compare(look, [], { rows, count: rowCount })
      }
      return result
    } catch (error) {
      compare(text, values, { error })
      throw error
    }
  }

  async function transaction<T>(
    work: (tx: Transaction) => Promise<T>,
    options?: Parameters<Database['transaction']>[1],
  ): Promise<T> {
    try {
      const done = await engine.transaction(async (tx) => {
        session.ask(`rollback; begin${options?.readOnly ? ' read only' : ''}`)
        return work({ ...tx, query: (sql, values) => both(tx, sql, values) })
      }, options)
      session.ask('commit')
      return done
    } catch (error) {
      session.ask('rollback')
      throw error
    }
  }

  const db: Database = { ...engine, query: (sql, values) => both(engine, sql, values), transaction }
  return { db, forget: alike.forget }
}

function outcomeOf(session: Session, text: string, values: readonly unknown[]): Outcome {
  try {
    const { rows, rowCount } = session.ask(text, values).at(-1)!
    return { rows, count: rowCount }
  } catch (error) {
    return { error }
  }
}

const orders = new Map<string, readonly string[]>()

/** Columns that are given in the order of their values, as far as these are told. All other rows come as they are found. */
function orderIn(text: string): readonly string[] {
  let known = orders.get(text)
  if (!known) {
    const node = statementsIn(text).at(-1)
    const sorts = node && 'SelectStmt' in node ? (node.SelectStmt.sortClause ?? []) : []
    known = sorts.flatMap((sort) => {
      const by = 'SortBy' in sort ? sort.SortBy.node : undefined
      return by && 'ColumnRef' in by ? wordsOf(by.ColumnRef.fields).slice(-1) : []
    })
    // Behind an expression that is not told, order says nothing any more.
    known = known.length === sorts.length ? known : []
    orders.set(text, known)
  }
  return known
}
