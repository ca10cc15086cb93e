import { craftController } from '../artifacts/CraftController.ts'
import { craftToken } from '../artifacts/CraftToken.ts'
import { saleLots } from '../artifacts/SaleLots.ts'
import { type Address, type Hash, sameAddress } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { type Artifact, initCode, invocation, roleId } from '../chain/act.ts'
import { readCode } from '../chain/code.ts'
import {
  CONTRACT_ROLES,
  collectionStep,
  grantStep,
  hasRole,
  type RoleName,
  type RolePlace,
  renounceStep,
} from './contract-roles.ts'
import { create2Address, factoryCall } from './factory.ts'
import type { Step } from './step.ts'

/** Everything that decides which contracts come to stand where, and who may do what there. */
export type DeploymentTerms = {
  readonly chainId: number
  readonly salt: Hash
  /** Whom the constructors give everything: the key that deploys, or the owner's Safe when it does all of it itself. */
  readonly admin: Address
  /** Who has everything in the end. */
  readonly owner: Address
  /** Who sets lots beside the owner; null: nobody. */
  readonly lotManager: Address | null
  readonly sale: { readonly name: string; readonly symbol: string; readonly minter: Address } | null
  readonly craft: {
    /** One that exists, or what a new one is called. */
    readonly token: Address | { readonly name: string; readonly symbol: string }
    readonly collections: readonly Address[]
    readonly craftSeconds: number
    readonly secondsPerToken: number
    readonly crafter: Address
  } | null
}

/** A contract that is to be made, and the code it should then have. */
export type Birth = {
  readonly name: 'sale' | 'craft' | 'craft token'
  readonly address: Address
  readonly code: Hex
  readonly artifact: Artifact
  /** What the constructor fills in, a word for each place. */
  readonly immutables: readonly Hex[]
}

export function birthsOf({ salt, admin, sale, craft }: DeploymentTerms): readonly Birth[] {
  const birth = (
    name: Birth['name'],
    artifact: Artifact,
    args: readonly unknown[],
    immutables: readonly Hex[] = [],
  ): Birth => {
    const code = initCode(artifact, args)
    return { name, address: create2Address(code, salt), code, artifact, immutables }
  }
  const births: Birth[] = []
  if (sale) births.push(birth('sale', saleLots, [sale.name, sale.symbol, admin]))
  if (!craft) return births
  const { token, craftSeconds, secondsPerToken } = craft
  if (typeof token === 'object') births.push(birth('craft token', craftToken, [token.name, token.symbol, admin]))
  const tokenAddress = typeof token === 'object' ? births.at(-1)!.address : token
  const args = [admin, tokenAddress, BigInt(craftSeconds), BigInt(secondsPerToken)]
  const word: Hex = `0x${tokenAddress.slice(2).toLowerCase().padStart(64, '0')}`
  return [...births, birth('craft', craftController, args, [word])]
}

export function addressIn(births: readonly Birth[], name: Birth['name']): Address | null {
  return births.find((birth) => birth.name === name)?.address ?? null
}

/** All that is to be done, in the order in which it must be: nobody gives a role away before somebody else has it. */
export function deploymentSteps(terms: DeploymentTerms): readonly Step[] {
  const births = birthsOf(terms)
  const { salt, sale, craft } = terms
  const made = births.map(
    ({ name, address, code }): Step => ({
      id: `deploy ${name}`,
      act: factoryCall(code, salt),
      isDone: async (rpc) => (await readCode(rpc, address)) !== '0x',
    }),
  )
  const places = placesOf(births)
  const [saleAt, craftAt] = (['sale', 'craft'] as const).map((name) => places.find((place) => place.name === name))
  return [
    ...made,
    ...(sale && saleAt ? [grantStep({ place: saleAt, role: 'minter', account: sale.minter })] : []),
    ...(craft && craftAt ? [grantStep({ place: craftAt, role: 'crafter', account: craft.crafter })] : []),
    ...(craft && craftAt ? craft.collections.map((one) => collectionStep(craftAt.address, one, true)) : []),
    ...(terms.lotManager && saleAt
      ? [grantStep({ place: saleAt, role: 'lot-manager', account: terms.lotManager })]
      : []),
    ...handOver(terms, births),
  ]
}

export function placesOf(births: readonly Birth[]): readonly RolePlace[] {
  return births.flatMap(({ name, address }) => (name === 'craft token' ? [] : [{ name, address }]))
}

/** What the constructor gave, the admin's role last: with it gone nothing else could be given away. */
const GIVEN: readonly RoleName[] = ['lot-manager', 'pauser', 'admin']

function handOver(terms: DeploymentTerms, births: readonly Birth[]): readonly Step[] {
  const { admin, owner, lotManager } = terms
  if (sameAddress(admin, owner)) return []
  const held = placesOf(births).flatMap((place) =>
    GIVEN.filter((role) => role in CONTRACT_ROLES[place.name]).map((role) => ({ place, role })),
  )
  const keeps = (role: RoleName) => role === 'lot-manager' && lotManager !== null && sameAddress(lotManager, admin)
  const token = addressIn(births, 'craft token')
  return [
    ...held.map((one) => grantStep({ ...one, account: owner })),
    ...(token ? TOKEN_ROLES.map((role) => tokenStep(token, role, 'grantRole', owner)) : []),
    ...held.filter(({ role }) => !keeps(role)).map((one) => renounceStep({ ...one, account: admin })),
    ...(token ? TOKEN_ROLES.map((role) => tokenStep(token, role, 'renounceRole', admin)) : []),
  ]
}

const TOKEN_ROLES = ['MINTER_ROLE', 'DEFAULT_ADMIN_ROLE'] as const

function tokenStep(token: Address, role: string, method: 'grantRole' | 'renounceRole', account: Address): Step {
  return {
    id: `${method === 'grantRole' ? 'grant' : 'renounce'} ${role} on craft token for ${account}`,
    act: invocation(token, craftToken.abi, method, [roleId(role), account]),
    isDone: async (rpc) => (await hasRole(rpc, token, role, account)) === (method === 'grantRole'),
  }
}
