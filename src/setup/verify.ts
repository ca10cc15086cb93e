import { type Address, sameAddress } from '../base/address.ts'
import { fromHex, type Hex } from '../base/hex.ts'
import { readCode } from '../chain/code.ts'
import type { Rpc } from '../chain/rpc.ts'
import { CONTRACT_ROLES, hasRole, isPaused, type RoleName, type RolePlace } from './contract-roles.ts'
import type { Birth } from './deployment.ts'

/** What was looked at on the chain, and whether it is as it should be. */
export type Fact = { readonly what: string; readonly isRight: boolean; readonly detail: string }

/** Byte for byte the runtime code of the artifact, but for the words that the constructor fills in, which must be the right ones. */
function isCodeOf(code: Hex, { artifact, immutables }: Pick<Birth, 'artifact' | 'immutables'>): boolean {
  const expected = Buffer.from(fromHex(artifact.runtime))
  for (const [index, places] of (artifact.immutables ?? []).entries())
    for (const start of places) Buffer.from(fromHex(immutables[index]!)).copy(expected, start)
  return expected.equals(fromHex(code))
}

export async function verifyCode(rpc: Rpc, birth: Birth): Promise<Fact> {
  const code = await readCode(rpc, birth.address)
  const what = `code of ${birth.name}`
  if (code === '0x') return { what, isRight: false, detail: `nothing stands at ${birth.address}` }
  return isCodeOf(code, birth)
    ? { what, isRight: true, detail: `${birth.address} has the code of this release` }
    : { what, isRight: false, detail: `${birth.address} has other code than this release` }
}

type Holders = {
  readonly place: RolePlace
  readonly role: RoleName
  /** Whom the role is meant for. */
  readonly meant: readonly Address[]
  /** Who must not have it, and might: keys of this machine, and whoever deployed. */
  readonly suspects: readonly Address[]
}

/** The contracts keep no list of who has a role, so everybody is asked for whom we know. */
export async function verifyRole(rpc: Rpc, { place, role, meant, suspects }: Holders): Promise<Fact> {
  const id = (CONTRACT_ROLES[place.name] as Readonly<Partial<Record<RoleName, string>>>)[role]!
  const isHeld = (account: Address) => hasRole(rpc, place.address, id, account)
  const others = suspects.filter((suspect) => !meant.some((one) => sameAddress(one, suspect)))
  const [held, wrong] = await Promise.all([Promise.all(meant.map(isHeld)), Promise.all(others.map(isHeld))])
  const missing = meant.filter((_, index) => !held[index])
  const intruders = others.filter((_, index) => wrong[index])
  const what = `${role} of ${place.name}`
  if (missing.length > 0) return { what, isRight: false, detail: `${missing.join(', ')} should have it and has not` }
  if (intruders.length > 0) return { what, isRight: false, detail: `${intruders.join(', ')} has it and should not` }
  return { what, isRight: true, detail: meant.length === 0 ? 'nobody of yours' : meant.join(', ') }
}

export async function verifyOpen(rpc: Rpc, { name, address }: RolePlace): Promise<Fact> {
  const paused = await isPaused(rpc, address)
  return { what: name, isRight: !paused, detail: paused ? 'is paused' : 'is open' }
}
