import { toHex } from '../../src/base/hex.ts'
import { keccak256 } from '../../src/base/keccak.ts'
import { Secret } from '../../src/base/secret.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { createWallet } from '../../src/outbox/wallet.ts'

export type RotatedRole = 'minter' | 'treasury'

/** What a role has after its rotation. */
export const nextKey = (role: RotatedRole): Secret =>
  new Secret(toHex(keccak256(Buffer.from(`the ${role} that comes after the first of this universe`))))

/** Wherever refunds come from. */
export const treasuries = [sandboxKey('treasury'), nextKey('treasury')].map((key) => createWallet(key).address)
