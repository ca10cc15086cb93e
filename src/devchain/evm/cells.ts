import type { Code } from './code.ts'

export type AccountRecord = { readonly nonce: bigint; readonly balance: bigint; readonly code: Code }

/** A new value for one cell of the state; undefined means absent. Storage keys are an address and a slot's 64 digits. */
export type Write =
  | Cell<'account', AccountRecord>
  | Cell<'storage', Uint8Array>
  /** Nonces beside the account's own: Tempo's two-dimensional ones, by `address:nonceKey`. */
  | Cell<'nonce', bigint>

type Cell<Table extends string, Value> = {
  readonly table: Table
  readonly key: string
  readonly after: Value | undefined
}

/** A write that can be taken back. */
export type CellChange = Write & { readonly before: Write['after'] }

/** What somebody found in the cells that they looked at. As long as it is there they would find the same. */
export type Reading = readonly Pick<CellChange, 'table' | 'key' | 'before'>[]

const tablesOf = () => ({
  account: plainTable<AccountRecord>(),
  storage: nestedTable(),
  nonce: plainTable<bigint>(),
})

type Tables = ReturnType<typeof tablesOf>

/**
 * The cells of the state in flat maps under one undo log: a checkpoint is a position in the log, and a revert walks back to it.
 * EthereumJS brings a manager that copies every map at each call frame and one that hashes tries; neither is needed here.
 */
export type Cells = {
  readonly account: Pick<Tables['account'], 'get'>
  readonly storage: Pick<Tables['storage'], 'get' | 'keysOf'>
  readonly nonce: Pick<Tables['nonce'], 'get'>
  put({ table, key, after }: Write): void
  /** Where the undo log ends now. */
  position(): number
  rewind(position: number): void
  /** Everything that changed since the last call, each cell once; the undo log starts anew. */
  takeChanges(): readonly CellChange[]
  /** Writes past the undo log. Returns what it takes to go back. */
  apply(writes: readonly Write[]): readonly CellChange[]
  unapply(changes: readonly CellChange[]): void
  /** What `work` looks at, each cell once, as it was then. One at a time. */
  watch<Result>(work: () => Promise<Result>): Promise<{ readonly result: Result; readonly reading: Reading }>
  stillReads(reading: Reading): boolean
}

export function createCells(): Cells {
  const tables = tablesOf()
  const undo: Pick<CellChange, 'table' | 'key' | 'before'>[] = []
  let seen: Map<string, Reading[number]> | null = null
  const set = (table: keyof Tables, key: string, value: Write['after']) => tables[table].set(key, value as never)

  /** The same table, for whoever must be watched. */
  function watched<Table extends keyof Tables>(table: Table): Tables[Table] {
    const get = (key: string) => {
      const before = tables[table].get(key)
      if (seen && !seen.has(table + key)) seen.set(table + key, { table, key, before })
      return before
    }
    return { ...tables[table], get } as Tables[Table]
  }

  return {
    account: watched('account'),
    storage: watched('storage'),
    nonce: watched('nonce'),
    put({ table, key, after }) {
      undo.push({ table, key, before: tables[table].get(key) })
      set(table, key, after)
    },
    position: () => undo.length,
    rewind(position) {
      for (let i = undo.length - 1; i >= position; i--) {
        const { table, key, before } = undo[i]!
        set(table, key, before)
      }
      undo.length = position
    },
    takeChanges() {
      const first = new Map<string, (typeof undo)[number]>()
      for (const entry of undo) {
        const cell = `${entry.table} ${entry.key}`
        if (!first.has(cell)) first.set(cell, entry)
      }
      undo.length = 0
      return [...first.values()].flatMap(({ table, key, before }) => {
        const after = tables[table].get(key)
        return isSame(before, after) ? [] : [{ table, key, before, after } as CellChange]
      })
    },
    apply(writes) {
      return writes.map((write) => {
        const before = tables[write.table].get(write.key)
        set(write.table, write.key, write.after)
        return { ...write, before } as CellChange
      })
    },
    unapply(changes) {
      for (const { table, key, before } of changes.toReversed()) set(table, key, before)
    },
    async watch(work) {
      const own = new Map<string, Reading[number]>()
      seen = own
      try {
        const result = await work()
        return { result, reading: [...own.values()] }
      } finally {
        seen = null
      }
    },
    stillReads: (reading) => reading.every(({ table, key, before }) => isSame(before, tables[table].get(key))),
  }
}

/** The EVM writes every account that it touches, mostly as it was. */
function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true
  if (before instanceof Uint8Array && after instanceof Uint8Array) return Buffer.compare(before, after) === 0
  if (!isAccount(before) || !isAccount(after)) return false
  return before.nonce === after.nonce && before.balance === after.balance && before.code === after.code
}

function isAccount(value: unknown): value is AccountRecord {
  return typeof value === 'object' && value !== null && 'code' in value
}

type Table<Value> = { get(key: string): Value | undefined; set(key: string, value: Value | undefined): void }

function plainTable<Value>(): Table<Value> {
  const map = new Map<string, Value>()
  return {
    get: (key) => map.get(key),
    set(key, value) {
      if (value === undefined) map.delete(key)
      else map.set(key, value)
    },
  }
}

const ADDRESS_LENGTH = 42

/** Slots by address and slot: each creation of a contract asks for the slots of one address, and must not walk over all. */
function nestedTable(): Table<Uint8Array> & { keysOf(address: string): string[] } {
  const byAddress = new Map<string, Map<string, Uint8Array>>()
  return {
    get: (key) => byAddress.get(key.slice(0, ADDRESS_LENGTH))?.get(key.slice(ADDRESS_LENGTH)),
    set(key, value) {
      const address = key.slice(0, ADDRESS_LENGTH)
      const slots = byAddress.get(address) ?? new Map<string, Uint8Array>()
      byAddress.set(address, slots)
      if (value === undefined) slots.delete(key.slice(ADDRESS_LENGTH))
      else slots.set(key.slice(ADDRESS_LENGTH), value)
    },
    keysOf: (address) => [...(byAddress.get(address)?.keys() ?? [])].map((slot) => address + slot),
  }
}
