import { type Address, sameAddress } from '../base/address.ts'
import { type Clock, msSince } from '../base/clock.ts'
import { isProblem } from '../base/problem.ts'
import { contractAt } from '../chain/contract.ts'
import { ChainSilent, type Rpc } from '../chain/rpc.ts'
import { erc20Abi } from '../chain/tokens.ts'
import type { Rail } from '../domain/rail.ts'

/** Asked before each sale, so it is not asked each time, unless the sale is more than a tenth of it. */
const FLOAT_MS = 5_000
const SMALL = 10n

/** What a payer has of a rail's token, and what our treasury has to send back. */
export function createBalances(options: {
  readonly rpc: Rpc
  readonly asset: Address
  readonly treasury: Address
  readonly clock: Clock
}): Pick<Rail, 'meansOf' | 'float'> {
  const { rpc, asset, treasury, clock } = options
  const token = contractAt(rpc, asset, erc20Abi)
  // A node that answers something else than a number has not answered.
  const balanceOf = (owner: Address): Promise<bigint> =>
    token.read('balanceOf', [owner]).catch((error: unknown) => {
      throw isProblem(error) ? error : new ChainSilent(rpc.chainId, 'eth_call', error)
    })
  let kept: { readonly at: number; readonly amount: Promise<bigint> } | null = null
  return {
    meansOf: balanceOf,
    async float(payTo, sale) {
      if (sameAddress(payTo, treasury)) return null
      if (sale !== undefined && kept !== null && msSince(clock, kept.at) <= FLOAT_MS) {
        const amount = await kept.amount
        if (sale * SMALL <= amount) return amount
      }
      const amount = balanceOf(treasury)
      amount.catch(() => {
        kept = null
      })
      kept = { at: clock.now(), amount }
      return amount
    },
  }
}
