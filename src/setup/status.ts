import { craftController } from '../artifacts/CraftController.ts'
import { saleLots } from '../artifacts/SaleLots.ts'
import { type Address, sameAddress } from '../base/address.ts'
import { contractAt } from '../chain/contract.ts'
import type { Rpc } from '../chain/rpc.ts'
import { CONTRACT_ROLES, type RoleName, type RolePlace } from './contract-roles.ts'
import { type Birth, birthsOf, type DeploymentTerms } from './deployment.ts'
import { type Fact, verifyCode, verifyOpen, verifyRole } from './verify.ts'

type Looked = {
  readonly places: readonly RolePlace[]
  /** Null: the contracts were made elsewhere, and who owns them is not known. */
  readonly terms: DeploymentTerms | null
  /** Keys of the shop by what they are for; null where there is none. */
  readonly minter: Address | null
  readonly crafter: Address | null
}

/** Code, roles and pause of every contract, as the chain has them now. */
export async function contractFacts(rpc: Rpc, looked: Looked): Promise<readonly Fact[]> {
  const facts: Fact[] = []
  for (const birth of await births(rpc, looked)) {
    const code = await verifyCode(rpc, birth)
    facts.push(code)
    const place = looked.places.find(({ name }) => name === birth.name)
    if (!place || (!code.isRight && code.detail.startsWith('nothing'))) continue
    facts.push(await verifyOpen(rpc, place))
    for (const role of Object.keys(CONTRACT_ROLES[place.name]) as RoleName[])
      facts.push(await verifyRole(rpc, { place, role, ...meantFor(looked, role) }))
  }
  return facts
}

/** Where no plan says so, a controller is asked for the one word that its constructor filled in. */
async function births(rpc: Rpc, { places, terms }: Looked): Promise<readonly Birth[]> {
  const planned = terms ? birthsOf(terms) : []
  const found = await Promise.all(
    places
      .filter(({ address }) => !planned.some((birth) => sameAddress(birth.address, address)))
      .map(async ({ name, address }): Promise<Birth> => {
        if (name === 'sale') return { name, address, code: '0x', artifact: saleLots, immutables: [] }
        const token = await contractAt(rpc, address, craftController.abi)
          .read('craftToken', [])
          .catch(() => address)
        const word = `0x${token.slice(2).toLowerCase().padStart(64, '0')}` as const
        return { name, address, code: '0x', artifact: craftController, immutables: [word] }
      }),
  )
  return [...planned, ...found]
}

function meantFor({ terms, minter, crafter }: Looked, role: RoleName) {
  const present = (accounts: readonly (Address | null | undefined)[]) =>
    accounts.filter((account): account is Address => account != null)
  const keys = present([minter, crafter, terms?.admin])
  if (role === 'minter') return { meant: present([minter ?? terms?.sale?.minter]), suspects: present([crafter]) }
  if (role === 'crafter') return { meant: present([crafter ?? terms?.craft?.crafter]), suspects: present([minter]) }
  const owners = role === 'lot-manager' ? [terms?.owner, terms?.lotManager] : [terms?.owner]
  return { meant: [...new Set(present(owners))], suspects: keys }
}
