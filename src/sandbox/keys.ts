import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { Secret } from '../base/secret.ts'

/** Keys of the play-money world. Anybody can compute them, which is why no other mode accepts or knows them. */
export type SandboxRole = 'deployer' | 'settler' | 'treasury' | 'minter' | 'crafter' | 'till' | 'demo' | 'receipts'

export function sandboxKey(role: SandboxRole): Secret {
  return new Secret(toHex(keccak256(Buffer.from(`sutler sandbox ${role}`))))
}

export const SANDBOX_MPP_SECRET = new Secret('sandbox challenges are signed with a secret everybody knows')
