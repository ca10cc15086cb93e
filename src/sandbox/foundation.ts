import { burnableCollection } from '../artifacts/BurnableCollection.ts'
import { craftController } from '../artifacts/CraftController.ts'
import { craftToken } from '../artifacts/CraftToken.ts'
import { sandboxSaleLots } from '../artifacts/SandboxSaleLots.ts'
import type { Address } from '../base/address.ts'
import { parseUsd } from '../base/money.ts'
import { type Act, type Artifact, initCode, invocation, roleId } from '../chain/act.ts'
import { addressOfAct } from './deployer.ts'
import { type SeedLot, seedLots } from './goods.ts'

export type SandboxContracts = {
  readonly sale: Address
  readonly craftController: Address
  readonly craftToken: Address
  readonly collections: readonly Address[]
}

const CRAFT_SECONDS = 3_600n
/** One craft token saves ten minutes. */
const SECONDS_PER_TOKEN = 600n

const deployment = (artifact: Artifact, args: readonly unknown[]): Act => ({ data: initCode(artifact, args) })

/** Which act deploys what. The acts are numbered by nonce and never change their order: a data folder of yesterday continues today. */
const CONTRACT_ACTS = { sale: 0, craftToken: 1, relics: 2, shards: 3, craftController: 4 }

export function sandboxContracts(deployer: Address): SandboxContracts {
  return {
    sale: addressOfAct(deployer, CONTRACT_ACTS.sale),
    craftController: addressOfAct(deployer, CONTRACT_ACTS.craftController),
    craftToken: addressOfAct(deployer, CONTRACT_ACTS.craftToken),
    collections: [addressOfAct(deployer, CONTRACT_ACTS.relics), addressOfAct(deployer, CONTRACT_ACTS.shards)],
  }
}

export function foundationActs(roles: { deployer: Address; minter: Address; crafter: Address }): readonly Act[] {
  const admin = roles.deployer
  const contracts = sandboxContracts(admin)
  const { sale, craftController: controller } = contracts
  return [
    deployment(sandboxSaleLots, ['Sutler Lots', 'LOT', admin]),
    deployment(craftToken, ['Ember', 'EMBER', admin]),
    deployment(burnableCollection, ['Old Relics', 'RELIC', 'sandbox://relics/', admin]),
    deployment(burnableCollection, ['Glass Shards', 'SHARD', 'sandbox://shards/', admin]),
    deployment(craftController, [admin, contracts.craftToken, CRAFT_SECONDS, SECONDS_PER_TOKEN]),
    invocation(sale, sandboxSaleLots.abi, 'grantRole', [roleId('MINTER_ROLE'), roles.minter]),
    invocation(controller, craftController.abi, 'grantRole', [roleId('OPERATOR_ROLE'), roles.crafter]),
    ...contracts.collections.map((collection) =>
      invocation(controller, craftController.abi, 'setCollectionAllowed', [collection, true]),
    ),
    ...seedLots.flatMap((lot) => lotActs(sale, lot)),
  ]
}

function lotActs(sale: Address, { saleId, name, description, price, supply, mintReverts }: SeedLot): readonly Act[] {
  const uri = `data:application/json,${encodeURIComponent(JSON.stringify({ name, description }))}`
  const terms = { name, uri, unitPrice: parseUsd(price), supply: BigInt(supply), opensAt: 0n, closesAt: 0n }
  const set = invocation(sale, sandboxSaleLots.abi, 'setLot', [BigInt(saleId), terms])
  return mintReverts ? [set, invocation(sale, sandboxSaleLots.abi, 'setMintReverts', [BigInt(saleId), true])] : [set]
}
