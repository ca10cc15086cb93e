import { craftController } from '../artifacts/CraftController.ts'
import { saleLots } from '../artifacts/SaleLots.ts'
import type { Address } from '../base/address.ts'
import { type Act, invocation, roleId } from '../chain/act.ts'
import { contractAt } from '../chain/contract.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Step } from './step.ts'

const CONTRACT_NAMES = ['sale', 'craft'] as const
type ContractName = (typeof CONTRACT_NAMES)[number]

/** What people call a role, and how each contract knows it. */
export const CONTRACT_ROLES = {
  sale: {
    admin: 'DEFAULT_ADMIN_ROLE',
    'lot-manager': 'LOT_MANAGER_ROLE',
    pauser: 'PAUSER_ROLE',
    minter: 'MINTER_ROLE',
  },
  craft: { admin: 'DEFAULT_ADMIN_ROLE', pauser: 'PAUSER_ROLE', crafter: 'OPERATOR_ROLE' },
} as const satisfies Record<ContractName, Readonly<Record<string, string>>>

export const ROLE_NAMES = ['admin', 'lot-manager', 'pauser', 'minter', 'crafter'] as const
export type RoleName = (typeof ROLE_NAMES)[number]

/** A contract of ours on the chain. */
export type RolePlace = { readonly name: ContractName; readonly address: Address }

/** Null: this contract has no such role. */
export function roleOn(name: ContractName, role: RoleName): string | null {
  const roles: Readonly<Partial<Record<RoleName, string>>> = CONTRACT_ROLES[name]
  return roles[role] ?? null
}

// Both contracts keep their roles, and their pause, in the same way.
const { abi } = saleLots

export function hasRole(rpc: Rpc, contract: Address, role: string, account: Address): Promise<boolean> {
  return contractAt(rpc, contract, abi).read('hasRole', [roleId(role), account])
}

export function isPaused(rpc: Rpc, contract: Address): Promise<boolean> {
  return contractAt(rpc, contract, abi).read('paused', [])
}

type RoleDeed = { readonly place: RolePlace; readonly role: RoleName; readonly account: Address }

export function grantStep(deed: RoleDeed): Step {
  return roleStep(deed, { verb: 'grant', method: 'grantRole', isHeldAfter: true })
}

export function revokeStep(deed: RoleDeed): Step {
  return roleStep(deed, { verb: 'revoke', method: 'revokeRole', isHeldAfter: false })
}

/** As revoke, by whoever has the role: an admin that leaves has nobody else to ask. */
export function renounceStep(deed: RoleDeed): Step {
  return roleStep(deed, { verb: 'renounce', method: 'renounceRole', isHeldAfter: false })
}

function roleStep(
  { place, role, account }: RoleDeed,
  { verb, method, isHeldAfter }: { readonly verb: string; readonly method: string; readonly isHeldAfter: boolean },
): Step {
  const id = roleOn(place.name, role)
  if (id === null) throw new TypeError(`${place.name} has no role ${role}`)
  return {
    id: `${verb} ${role} on ${place.name} for ${account}`,
    act: invocation(place.address, abi, method, [roleId(id), account]),
    isDone: async (rpc) => (await hasRole(rpc, place.address, id, account)) === isHeldAfter,
  }
}

export function pauseStep({ name, address }: RolePlace, verb: 'pause' | 'unpause'): Step {
  return {
    id: `${verb} ${name}`,
    act: invocation(address, abi, verb, []),
    isDone: async (rpc) => (await isPaused(rpc, address)) === (verb === 'pause'),
  }
}

export function collectionStep(controller: Address, collection: Address, isAllowed: boolean): Step {
  const act: Act & { readonly to: Address } = invocation(controller, craftController.abi, 'setCollectionAllowed', [
    collection,
    isAllowed,
  ])
  return {
    id: `${isAllowed ? 'allow' : 'disallow'} collection ${collection}`,
    act,
    isDone: async (rpc) =>
      (await contractAt(rpc, controller, craftController.abi).read('isAllowed', [collection])) === isAllowed,
  }
}
