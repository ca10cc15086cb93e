import { generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Address } from '../base/address.ts'
import { type Hex, toHex } from '../base/hex.ts'
import type { Random } from '../base/id.ts'
import { Secret } from '../base/secret.ts'
import type { KeyRole } from '../config/key-roles.ts'
import { createWallet } from '../outbox/wallet.ts'
import { createFile } from './durable-file.ts'

/** Where the key of a role lies. */
export function keyFile(folder: string, role: string): string {
  return `${folder}/${role}.key`
}

/** `made` is false when the file was there: nothing is ever overwritten. The address is null for what signs no transactions. */
export type MadeKey = { readonly path: string; readonly address: Address | null; readonly made: boolean }

/** A key or secret in a file of its own that only its owner can read. */
export function makeKey(path: string, kind: KeyRole['kind'], random: Random): MadeKey {
  if (existsSync(path)) return { path, address: addressIn(path, kind), made: false }
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  createFile(path, `${newKey(kind, random).trim()}\n`, { mode: 0o600 })
  return { path, address: addressIn(path, kind), made: true }
}

function newKey(kind: KeyRole['kind'], random: Random): string {
  if (kind === 'receipts')
    return generateKeyPairSync('ec', { namedCurve: 'P-256' })
      .privateKey.export({ type: 'sec1', format: 'pem' })
      .toString()
  const hex: Hex = toHex(random.bytes(32))
  return kind === 'account' ? hex : hex.slice(2)
}

function addressIn(path: string, kind: KeyRole['kind']): Address | null {
  return kind === 'account' ? createWallet(new Secret(readFileSync(path, 'utf8').trim())).address : null
}
