import type { StateManagerInterface } from '@ethereumjs/common'
import { OriginalStorageCache } from '@ethereumjs/statemanager'
import { Account, type Address as EvmAddress } from '@ethereumjs/util'
import type { Address } from '../../base/address.ts'
import { type Hex, toHex } from '../../base/hex.ts'
import { keccak256 } from '../../base/keccak.ts'

/** Contract code with its hash in both forms, so that no lookup hashes or decodes. */
export type Code = { readonly hash: Hex; readonly hashBytes: Uint8Array; readonly bytes: Uint8Array }
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
export type Change = Write & { readonly before: Write['after'] }

/**
 * The accounts of the chain in flat maps under one undo log: a checkpoint is a position in the log, and a revert walks back to
 * it. EthereumJS brings a manager that copies every map at each call frame and one that hashes tries; neither is needed here.
 */
export type State = StateManagerInterface & {
  account(address: Address): AccountRecord
  setAccount(address: Address, fields: Partial<AccountRecord>): void
  slot(address: Address, slot: Hex): Uint8Array
  nonce(key: string): bigint
  setNonce(key: string, value: bigint): void
  /** Runs `work` and leaves no trace of it. */
  dryRun<T>(work: () => Promise<T>): Promise<T>
  /** Everything that changed since the last call, each cell once; the undo log starts anew. */
  takeChanges(): readonly Change[]
  /** Forgets everything that changed since then. */
  dropChanges(): void
  /** Writes past the undo log. Returns what it takes to go back. */
  apply(writes: readonly Write[]): readonly Change[]
  unapply(changes: readonly Change[]): void
}

const EMPTY = new Uint8Array()
export const noCode = makeCode(EMPTY)
const noAccount: AccountRecord = { nonce: 0n, balance: 0n, code: noCode }

export function makeCode(bytes: Uint8Array): Code {
  const hashBytes = keccak256(bytes)
  return { hash: toHex(hashBytes), hashBytes, bytes }
}

export function createState(): State {
  const accounts = new Map<string, AccountRecord>()
  const nonces = new Map<string, bigint>()
  const storage = nestedTable()
  const tables = { account: plainTable(accounts), nonce: plainTable(nonces), storage }
  const undo: { table: keyof typeof tables; key: string; before: unknown }[] = []
  const checkpoints: number[] = []

  function put(table: keyof typeof tables, key: string, value: unknown): void {
    undo.push({ table, key, before: tables[table].get(key) })
    tables[table].set(key, value as never)
  }

  function rewind(position: number): void {
    for (let i = undo.length - 1; i >= position; i--) {
      const { table, key, before } = undo[i]!
      tables[table].set(key, before as never)
    }
    undo.length = position
  }

  function account(address: string): AccountRecord {
    return accounts.get(address.toLowerCase()) ?? noAccount
  }

  function setAccount(address: string, fields: Partial<AccountRecord>): void {
    put('account', address.toLowerCase(), { ...account(address), ...fields })
  }

  async function getStorage(address: EvmAddress, slot: Uint8Array): Promise<Uint8Array> {
    return storage.get(cellKey(address, slot)) ?? EMPTY
  }

  async function clearStorage(address: EvmAddress): Promise<void> {
    for (const key of storage.keysOf(keyOf(address))) put('storage', key, undefined)
  }

  const originalStorageCache = new OriginalStorageCache(getStorage)

  return {
    account,
    setAccount,
    slot: (address, slot) => storage.get(address.toLowerCase() + slot.slice(2)) ?? EMPTY,
    nonce: (key) => nonces.get(key) ?? 0n,
    setNonce: (key, value) => put('nonce', key, value),

    async dryRun(work) {
      const position = undo.length
      try {
        return await work()
      } finally {
        rewind(position)
      }
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
        return isSame(before, after) ? [] : [{ table, key, before, after } as Change]
      })
    },
    dropChanges: () => rewind(0),
    apply(writes) {
      return writes.map((write) => {
        const before = tables[write.table].get(write.key)
        tables[write.table].set(write.key, write.after as never)
        return { ...write, before } as Change
      })
    },
    unapply(changes) {
      for (const { table, key, before } of changes.toReversed()) tables[table].set(key, before as never)
    },

    // From here on: what EthereumJS asks of a state manager.
    async getAccount(address) {
      const record = accounts.get(keyOf(address))
      return record && new Account(record.nonce, record.balance, undefined, record.code.hashBytes)
    },
    async putAccount(address, fields) {
      const key = keyOf(address)
      // The EVM never changes a code hash by itself: code arrives through putCode.
      const { code } = accounts.get(key) ?? noAccount
      put('account', key, fields && { nonce: fields.nonce, balance: fields.balance, code })
    },
    async modifyAccountFields(address, { nonce, balance }) {
      setAccount(keyOf(address), {
        ...(nonce === undefined ? {} : { nonce }),
        ...(balance === undefined ? {} : { balance }),
      })
    },
    async deleteAccount(address) {
      put('account', keyOf(address), undefined)
      await clearStorage(address)
    },
    async putCode(address, bytes) {
      setAccount(keyOf(address), { code: makeCode(bytes) })
    },
    getCode: async (address) => account(keyOf(address)).code.bytes,
    getCodeSize: async (address) => account(keyOf(address)).code.bytes.length,
    getStorage,
    async putStorage(address, slot, value) {
      put('storage', cellKey(address, slot), value.length === 0 ? undefined : value)
    },
    clearStorage,
    async checkpoint() {
      checkpoints.push(undo.length)
    },
    async commit() {
      checkpoints.pop()
    },
    async revert() {
      rewind(checkpoints.pop()!)
    },
    originalStorageCache,
    clearCaches: () => originalStorageCache.clear(),
    // No tries, so no roots. Nothing in the execution of a transaction asks for one.
    getStateRoot: async () => new Uint8Array(32),
    setStateRoot: () => Promise.reject(new TypeError('the dev chain has no state roots')),
    hasStateRoot: async () => false,
    shallowCopy: () => {
      throw new TypeError('the state of the dev chain is not copied')
    },
  }
}

/** The EVM writes every account that it touches, mostly as it was. */
function isSame(before: unknown, after: unknown): boolean {
  if (before === after) return true
  if (!isAccount(before) || !isAccount(after)) return false
  return before.nonce === after.nonce && before.balance === after.balance && before.code === after.code
}

function isAccount(value: unknown): value is AccountRecord {
  return typeof value === 'object' && value !== null && 'code' in value
}

function keyOf(address: EvmAddress): Address {
  return toHex(address.bytes)
}

function cellKey(address: EvmAddress, slot: Uint8Array): string {
  return toHex(address.bytes) + toHex(slot).slice(2)
}

type Table<Value> = { get(key: string): Value | undefined; set(key: string, value: Value | undefined): void }

function plainTable<Value>(map: Map<string, Value>): Table<Value> {
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
