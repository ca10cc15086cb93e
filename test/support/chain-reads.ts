import type { Address } from '../../src/base/address.ts'
import { nftsOf } from '../crash/flows.ts'
import { erc20Balance, type TestShop } from './shop.ts'

/** Asks or moves the chain of the x402 rail. */
export function nativeCall<Answer = unknown>(
  { chains }: Pick<TestShop, 'chains'>,
  method: string,
  ...params: unknown[]
): Promise<Answer> {
  return chains.native.request({ method, params }) as Promise<Answer>
}

/** How much of the MPP rail's currency an address has. */
export function pathUsdOf({ chains, config }: Pick<TestShop, 'chains' | 'config'>, owner: Address): Promise<bigint> {
  return erc20Balance(chains.tempo, config.mpp!.currency.address, owner)
}

/** How many tokens of the sale contract an address has. */
export function saleTokensOf(
  { chains, world }: Pick<TestShop, 'chains' | 'world'>,
  { address }: { readonly address: Address },
): Promise<number> {
  return nftsOf(chains, world.contracts.sale, address)
}
