import * as AbiFunction from 'ox/AbiFunction'
import { testFeeManager } from '../../artifacts/TestFeeManager.ts'
import { testTip20 } from '../../artifacts/TestTip20.ts'
import { type Address, ZERO_ADDRESS } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { RpcError } from '../errors.ts'
import { lesser } from '../quantity.ts'
import { FEE_MANAGER_ADDRESS, isTip20, PATH_USD_ADDRESS, type Rules, SYSTEM_ADDRESS } from '../rules.ts'
import type { BlockContext, EvmCall, EvmLog, Machine } from './machine.ts'
import type { State } from './state.ts'

type FeeTerms = {
  readonly from: Address
  readonly feePayer: Address
  readonly feeToken?: Address | undefined
  readonly calls: readonly EvmCall[]
  readonly gas: bigint
  readonly maxFeePerGas: bigint
  readonly maxPriorityFeePerGas: bigint
}

/** The highest possible fee, set aside before the transaction runs. */
type HeldFee = {
  readonly price: bigint
  readonly feeToken: Address | null
  /** Gives back what was not used. Returns the logs that paying left behind. */
  settle(gasUsed: bigint): Promise<readonly EvmLog[]>
}

/** How gas is paid for. `hold` changes the state, or throws the node's refusal when the payer cannot afford it. */
export type FeeCollector = {
  hold(terms: FeeTerms, block: BlockContext): Promise<HeldFee>
  feeTokenOf(payer: Address, block: BlockContext): Promise<Address>
}

export function effectiveGasPrice(fees: Pick<FeeTerms, 'maxFeePerGas' | 'maxPriorityFeePerGas'>, rules: Rules): bigint {
  return lesser(rules.baseFeePerGas + fees.maxPriorityFeePerGas, fees.maxFeePerGas)
}

/** In the chain's own coin. */
export function nativeFees({ rules, state }: { rules: Rules; state: State }): FeeCollector {
  return {
    async hold(terms) {
      const { from, gas, calls } = terms
      const { balance } = state.account(from)
      const cost = gas * terms.maxFeePerGas + calls.reduce((sum, { value }) => sum + value, 0n)
      if (balance < cost) {
        const shortage = `address ${from} have ${balance} want ${cost}`
        throw new RpcError(rules.refusalCode, `insufficient funds for gas * price + value: ${shortage}`)
      }
      const price = effectiveGasPrice(terms, rules)
      state.setAccount(from, { balance: balance - gas * price })
      return {
        price,
        feeToken: null,
        async settle(gasUsed) {
          state.setAccount(from, { balance: state.account(from).balance + (gas - gasUsed) * price })
          return []
        },
      }
    },
    feeTokenOf: () => Promise.reject(new TypeError('fees are paid in the native coin')),
  }
}

const holdFee = AbiFunction.fromAbi(testTip20.abi, 'holdFee')
const settleFee = AbiFunction.fromAbi(testTip20.abi, 'settleFee')
const balanceOf = AbiFunction.fromAbi(testTip20.abi, 'balanceOf')
const userTokens = AbiFunction.fromAbi(testFeeManager.abi, 'userTokens')

/** In a TIP-20 token, as on Tempo. No fee market between tokens: whatever the payer chose is what they pay with. */
export function tip20Fees({ rules, state, machine }: { rules: Rules; state: State; machine: Machine }): FeeCollector {
  async function system(to: Address, data: Hex, block: BlockContext) {
    const calls = [{ to, value: 0n, data }]
    return machine.run({ calls, from: SYSTEM_ADDRESS, gas: 1_000_000n, gasPrice: 0n }, block)
  }

  async function feeTokenOf(payer: Address, block: BlockContext): Promise<Address> {
    const { output } = await system(FEE_MANAGER_ADDRESS, AbiFunction.encodeData(userTokens, [payer]), block)
    const chosen = `0x${output.slice(-40)}` as Address
    return chosen === ZERO_ADDRESS ? PATH_USD_ADDRESS : chosen
  }

  return {
    feeTokenOf,
    async hold(terms, block) {
      const { feePayer, gas } = terms
      const feeToken = terms.feeToken ?? (await feeTokenOf(feePayer, block))
      if (!isTip20(feeToken) || state.account(feeToken).code.bytes.length === 0) {
        throw new RpcError(
          rules.refusalCode,
          `fee token ${feeToken} is not a TIP-20 token; fee tokens must be TIP-20 tokens`,
        )
      }
      const price = effectiveGasPrice(terms, rules)
      const maximum = inToken(gas * price)
      const held = await system(feeToken, AbiFunction.encodeData(holdFee, [feePayer, maximum]), block)
      if (held.failure !== null) {
        const { output } = await system(feeToken, AbiFunction.encodeData(balanceOf, [feePayer]), block)
        const shortage = `required ${maximum}, but only have ${BigInt(output)}`
        throw new RpcError(rules.refusalCode, `insufficient fee token balance: ${shortage}`)
      }
      return {
        price,
        feeToken,
        async settle(gasUsed) {
          const data = AbiFunction.encodeData(settleFee, [feePayer, maximum, inToken(gasUsed * price)])
          return (await system(feeToken, data, block)).logs
        },
      }
    },
  }
}

const ATTODOLLARS_PER_UNIT = 1_000_000_000_000n

/** Tempo prices gas in 10^-18 dollars; a TIP-20 has 6 decimals. Rounded up: a fraction of a unit is still owed. */
function inToken(attodollars: bigint): bigint {
  return (attodollars + ATTODOLLARS_PER_UNIT - 1n) / ATTODOLLARS_PER_UNIT
}
