import { toHex } from '../../src/base/hex.ts'
import { keccak256 } from '../../src/base/keccak.ts'
import { Secret } from '../../src/base/secret.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { createWallet } from '../../src/outbox/wallet.ts'

export type RotatedRole = 'minter' | 'treasury'

/** What a role has after its rotation. */
export const nextKey = (role: RotatedRole): Secret =>
  new Secret(toHex(keccak256(Buffer.from(`the ${role} that comes after the first of this universe`))))

const all = [
  ...(['settler', 'treasury', 'minter', 'crafter'] as const).map(sandboxKey),
  ...(['treasury', 'minter'] as const).map(nextKey),
]

/** Every key that the shop may ever sign with, by its address in lower case. */
export const ourKeys: ReadonlyMap<string, Secret> = new Map(
  all.map((key) => [createWallet(key).address.toLowerCase(), key]),
)

/** Wherever refunds come from. */
export const treasuries = [sandboxKey('treasury'), nextKey('treasury')].map((key) => createWallet(key).address)
