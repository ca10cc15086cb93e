import type { StateManagerInterface } from '@ethereumjs/common'
import { OriginalStorageCache } from '@ethereumjs/statemanager'
import { Account, type Address as EvmAddress } from '@ethereumjs/util'
import type { Address } from '../../base/address.ts'
import { type Hex, toHex } from '../../base/hex.ts'
import { type AccountRecord, type CellChange, type Cells, createCells, type Reading, type Write } from './cells.ts'
import { makeCode, noCode } from './code.ts'

/** The accounts of the chain. It is also what EthereumJS asks for as a state manager. */
export type State = StateManagerInterface & {
  account(address: Address): AccountRecord
  setAccount(address: Address, fields: Partial<AccountRecord>): void
  slot(address: Address, slot: Hex): Uint8Array
  nonce(key: string): bigint
  setNonce(key: string, value: bigint): void
  /** Runs `work` and leaves no trace of it. */
  dryRun<T>(work: () => Promise<T>): Promise<T>
  takeChanges(): readonly CellChange[]
  /** Forgets everything that changed since then. */
  dropChanges(): void
  apply(writes: readonly Write[]): readonly CellChange[]
  unapply(changes: readonly CellChange[]): void
  /** What `work` looks at. As long as the state still reads so, it would come to the same. */
  watch<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly reading: Reading }>
  stillReads(reading: Reading): boolean
}

const EMPTY = new Uint8Array()
const noAccount: AccountRecord = { nonce: 0n, balance: 0n, code: noCode }

export function createState(): State {
  const cells = createCells()
  const { takeChanges, apply, unapply, watch, stillReads } = cells
  return {
    ...managerOf(cells),
    account: (address) => accountAt(cells, address.toLowerCase()),
    setAccount: (address, fields) => setAccount(cells, address.toLowerCase(), fields),
    slot: (address, slot) => cells.storage.get(address.toLowerCase() + slot.slice(2)) ?? EMPTY,
    nonce: (key) => cells.nonce.get(key) ?? 0n,
    setNonce: (key, after) => cells.put({ table: 'nonce', key, after }),
    async dryRun(work) {
      const position = cells.position()
      try {
        return await work()
      } finally {
        cells.rewind(position)
      }
    },
    takeChanges,
    dropChanges: () => cells.rewind(0),
    apply,
    unapply,
    watch,
    stillReads,
  }
}

function accountAt(cells: Cells, key: string): AccountRecord {
  return cells.account.get(key) ?? noAccount
}

function setAccount(cells: Cells, key: string, fields: Partial<AccountRecord>): void {
  cells.put({ table: 'account', key, after: { ...accountAt(cells, key), ...fields } })
}

/** What EthereumJS asks of a state manager. */
function managerOf(cells: Cells): StateManagerInterface {
  const checkpoints: number[] = []
  return {
    ...accountsOf(cells),
    ...storageOf(cells),
    async checkpoint() {
      checkpoints.push(cells.position())
    },
    async commit() {
      checkpoints.pop()
    },
    async revert() {
      cells.rewind(checkpoints.pop()!)
    },
    // No tries, so no roots. Nothing in the execution of a transaction asks for one.
    getStateRoot: async () => new Uint8Array(32),
    setStateRoot: () => Promise.reject(new TypeError('the dev chain has no state roots')),
    hasStateRoot: async () => false,
    shallowCopy: () => {
      throw new TypeError('the state of the dev chain is not copied')
    },
  }
}

function accountsOf(cells: Cells) {
  return {
    async getAccount(address) {
      const record = cells.account.get(keyOf(address))
      return record && new Account(record.nonce, record.balance, undefined, record.code.hashBytes)
    },
    async putAccount(address, fields) {
      const key = keyOf(address)
      // The EVM never changes a code hash by itself: code arrives through putCode.
      const { code } = accountAt(cells, key)
      cells.put({ table: 'account', key, after: fields && { nonce: fields.nonce, balance: fields.balance, code } })
    },
    async modifyAccountFields(address, { nonce, balance }) {
      setAccount(cells, keyOf(address), {
        ...(nonce === undefined ? {} : { nonce }),
        ...(balance === undefined ? {} : { balance }),
      })
    },
    async deleteAccount(address) {
      cells.put({ table: 'account', key: keyOf(address), after: undefined })
      clearStorage(cells, address)
    },
    async putCode(address, bytes) {
      setAccount(cells, keyOf(address), { code: makeCode(bytes) })
    },
    getCode: async (address) => accountAt(cells, keyOf(address)).code.bytes,
    getCodeSize: async (address) => accountAt(cells, keyOf(address)).code.bytes.length,
  } satisfies Partial<StateManagerInterface>
}

function storageOf(cells: Cells) {
  const getStorage = async (address: EvmAddress, slot: Uint8Array) => cells.storage.get(cellKey(address, slot)) ?? EMPTY
  const originalStorageCache = new OriginalStorageCache(getStorage)
  return {
    getStorage,
    async putStorage(address, slot, value) {
      cells.put({ table: 'storage', key: cellKey(address, slot), after: value.length === 0 ? undefined : value })
    },
    clearStorage: async (address) => clearStorage(cells, address),
    originalStorageCache,
    clearCaches: () => originalStorageCache.clear(),
  } satisfies Partial<StateManagerInterface>
}

function clearStorage(cells: Cells, address: EvmAddress): void {
  for (const key of cells.storage.keysOf(keyOf(address))) cells.put({ table: 'storage', key, after: undefined })
}

function keyOf(address: EvmAddress): Address {
  return toHex(address.bytes)
}

function cellKey(address: EvmAddress, slot: Uint8Array): string {
  return toHex(address.bytes) + toHex(slot).slice(2)
}
