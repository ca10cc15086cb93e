import { basename, resolve } from 'node:path'
import type { Address } from '../base/address.ts'
import { type Hex, toHex } from '../base/hex.ts'
import { type Json, stringify } from '../base/json.ts'
import { keccak256 } from '../base/keccak.ts'
import { createFile } from './durable-file.ts'
import { SetupFault } from './fault.ts'

type SafeBatch = {
  readonly chainId: number
  readonly name: string
  readonly description: string
  readonly createdAt: number
  readonly calls: readonly { readonly to: Address; readonly data: Hex }[]
}

/** Never over a file that is there. */
export function writeSafeBatch(file: string, batch: SafeBatch): void {
  try {
    createFile(resolve(file), safeBatchText(batch), { mode: 0o644 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
    throw new SetupFault(
      'file_exists',
      `${file} exists and was left as it is, and nothing was sent; name another: --unsigned new-${basename(file)}`,
      { cause },
    )
  }
}

/** Transactions that nobody has signed, as the Transaction Builder of a Safe imports them (its version 1.0). */
export function safeBatchText({ chainId, name, description, createdAt, calls }: SafeBatch): string {
  const file = {
    version: '1.0',
    chainId: String(chainId),
    createdAt,
    meta: { name, description },
    transactions: calls.map(({ to, data }) => ({
      to,
      value: '0',
      data,
      contractMethod: null,
      contractInputsValues: null,
    })),
  }
  return `${stringify({ ...file, meta: { ...file.meta, checksum: checksumOf(file) } }, 2)}\n`
}

/** The builder warns of a file that was changed after it was made: it hashes all but the name, in a notation of its own. */
function checksumOf(file: { readonly meta: { readonly [key: string]: Json }; readonly [key: string]: Json }): string {
  return toHex(keccak256(Buffer.from(notation({ ...file, meta: { ...file.meta, name: null } }))))
}

/** Of an object the sorted keys as a list, then each value with a comma behind it. */
function notation(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(notation).join(',')}]`
  const object = value as { readonly [key: string]: Json }
  const keys = Object.keys(object).sort()
  return `{${JSON.stringify(keys)}${keys.map((key) => `${notation(object[key]!)},`).join('')}}`
}
