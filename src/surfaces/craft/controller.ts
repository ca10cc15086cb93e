import { craftController } from '../../artifacts/CraftController.ts'
import type { Address } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { type BatchReader, createBatchReader } from '../../chain/batch.ts'
import { type CallTerms, type Contract, contractAt, Reverted } from '../../chain/contract.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { erc20Abi, erc721Abi, tokenErrors } from '../../chain/tokens.ts'

/** The errors of the tokens it moves come through the controller. */
const controllerAbi = [...craftController.abi, ...tokenErrors] as const

/** The craft controller on its chain, with the tokens around it. */
export type Controller = {
  readonly chainId: number
  readonly address: Address
  readonly contract: Contract<typeof controllerAbi>
  readonly read: BatchReader
  collectionAt(address: Address): Contract<typeof erc721Abi>
  /** The token that accelerations are paid in, chosen for good when the controller was deployed. */
  token(): Promise<Contract<typeof erc20Abi>>
  /** What the controller would say to this call now, on these terms: null when it would go through. */
  trial(terms: CallTerms, data: Hex): Promise<Reverted | null>
}

export function createController(rpc: Rpc, address: Address): Controller {
  const contract = contractAt(rpc, address, controllerAbi)
  let token: Promise<Contract<typeof erc20Abi>> | null = null
  return {
    chainId: rpc.chainId,
    address,
    contract,
    read: createBatchReader(rpc),
    collectionAt: (collection) => contractAt(rpc, collection, erc721Abi),
    token() {
      token ??= contract.read('craftToken', []).then((found) => contractAt(rpc, found, erc20Abi))
      // A failed reading must not be kept.
      token.catch(() => {
        token = null
      })
      return token
    },
    async trial(terms, data) {
      try {
        await contract.simulate(terms, data)
        return null
      } catch (error) {
        if (error instanceof Reverted) return error
        throw error
      }
    },
  }
}
