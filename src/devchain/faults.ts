import { type Address, isAddress, sameAddress } from '../base/address.ts'
import { invalidParams } from './errors.ts'
import { readAddress, readCallRequest, readData, readLogFilter, readNumber, readObject } from './methods/params.ts'
import type { Rules } from './rules.ts'
import { decodeEnvelope } from './transactions/transaction.ts'

/** What goes wrong. */
export type FaultKind =
  /** `refuse`: an error before anything is done. `message` and `code` may be given. */
  | 'refuse'
  /** `delay`: the request waits `ms` before it is looked at. */
  | 'delay'
  /** `lose`: the request is carried out, and its answer never arrives. */
  | 'lose'
  /** `stale`: a read is answered as of `blocks` blocks ago. */
  | 'stale'
  /** `revert`: a transaction reverts in its block, though every simulation went well. */
  | 'revert'
  /** `drop`: a transaction is taken and forgotten. */
  | 'drop'
  /** `stick`: a transaction is taken and stays in the pool until the faults are cleared or it is replaced. */
  | 'stick'

export type Fault = {
  readonly kind: FaultKind
  /** Only these methods; all if absent. `revert`, `drop` and `stick` happen to transactions and know no method. */
  readonly methods: readonly string[] | null
  /** Only requests about this address: the target of a transaction or call, or the account or contract that is read. */
  readonly to: Address | null
  readonly ms: number
  readonly blocks: number
  readonly code: number
  readonly message: string
}

export type Occasion = { readonly method?: string; readonly addresses: () => readonly (Address | null)[] }

/** Faults in waiting. Each strikes as often as it was told to, the oldest first. */
export type Faults = {
  add(description: unknown): void
  clear(): void
  /** The fault of this kind that strikes now, if any; it is used up by being asked for. */
  strike(kind: FaultKind, occasion: Occasion): Fault | null
}

export const noFaults: Faults = { add() {}, clear() {}, strike: () => null }

const KINDS: readonly FaultKind[] = ['refuse', 'delay', 'lose', 'stale', 'revert', 'drop', 'stick']

export function createFaults(): Faults {
  let armed: { readonly fault: Fault; left: number }[] = []
  return {
    add(description) {
      const { count = 1 } = readObject(description)
      armed.push({ fault: readFault(description), left: readNumber(count) })
    },
    clear() {
      armed = []
    },
    strike(kind, occasion) {
      const found = armed.find(({ fault }) => fault.kind === kind && strikes(fault, occasion))
      if (!found) return null
      found.left--
      armed = armed.filter(({ left }) => left > 0)
      return found.fault
    },
  }
}

function strikes({ methods, to }: Fault, { method, addresses }: Occasion): boolean {
  if (methods !== null && method !== undefined && !methods.includes(method)) return false
  return to === null || addresses().some((address) => address !== null && sameAddress(address, to))
}

function readFault(description: unknown): Fault {
  const {
    kind,
    method,
    to,
    ms = 0,
    blocks = 1,
    code = -32000,
    message = 'refused by a fault',
  } = readObject(description)
  const known = KINDS.find((name) => name === kind)
  if (!known) throw invalidParams(`kind: one of ${KINDS.join(', ')}`)
  return {
    kind: known,
    methods: method === undefined ? null : [method].flat().map(String),
    to: to === undefined ? null : readAddress(to),
    ms: readNumber(ms),
    blocks: readNumber(blocks),
    code: Number(code),
    message: String(message),
  }
}

/** The addresses a request is about. None if it is malformed: its method will say so. */
export function addressesIn(method: string, [first]: readonly unknown[], rules: Rules): readonly (Address | null)[] {
  try {
    switch (method) {
      case 'eth_sendRawTransaction':
      case 'eth_sendRawTransactionSync':
        return decodeEnvelope(readData(first), rules).calls.map(({ to }) => to)
      case 'eth_call':
      case 'eth_estimateGas':
      case 'eth_fillTransaction':
        return readCallRequest(first).calls.map(({ to }) => to)
      case 'eth_getLogs':
        return readLogFilter(first).addresses ?? []
      default:
        return typeof first === 'string' && isAddress(first) ? [first] : []
    }
  } catch {
    return []
  }
}
