import type {
  Abi,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionReturnType,
  DecodeEventLogReturnType,
} from 'viem'
import { decodeEventLog as decode, decodeErrorResult, decodeFunctionResult, encodeFunctionData } from 'viem/utils'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { Problem } from '../base/problem.ts'
import type { Fees } from '../domain/journal.ts'
import { blockOrLatest } from './block-tag.ts'
import { type Rpc, RpcError } from './rpc.ts'

type Functions<abi extends Abi> = ContractFunctionName<abi>
type Arguments<abi extends Abi, name extends Functions<abi>> = ContractFunctionArgs<
  abi,
  'pure' | 'view' | 'nonpayable' | 'payable',
  name
>
type Returns<abi extends Abi, name extends Functions<abi>> = ContractFunctionReturnType<
  abi,
  'pure' | 'view' | 'nonpayable' | 'payable',
  name
>

/** A view call and how its answer is read: `read` sends one alone, a batch (`batch.ts`) sends many at once. */
export type Question<Answer> = { readonly to: Address; readonly data: Hex; readonly decode: (data: Hex) => Answer }

/** Who makes a call, with how much gas, at what price. Without fees where gas is paid in a token. */
export type CallTerms = { readonly from: Address; readonly gas: bigint } & Partial<Fees>

/** One contract on one chain: reads, trials and calldata by name, typed by its ABI. */
export type Contract<abi extends Abi> = {
  readonly address: Address
  question<name extends Functions<abi>>(name: name, args: Arguments<abi, name>): Question<Returns<abi, name>>
  /** Now, or as of a block. */
  read<name extends Functions<abi>>(name: name, args: Arguments<abi, name>, block?: bigint): Promise<Returns<abi, name>>
  encode<name extends Functions<abi>>(name: name, args: Arguments<abi, name>): Hex
  /**
   * Runs the call without a trace, now or as of a block, on the very terms it would be signed with. Throws Reverted when the contract would
   * refuse, with the reason `OutOfBudget` when the gas does not suffice.
   */
  simulate(terms: CallTerms, data: Hex, block?: bigint): Promise<void>
}

/** A contract said no. `reason` is the name of its error, or the text of a plain revert. */
export class Reverted extends Error {
  readonly reason: string
  readonly args: readonly unknown[]
  constructor(reason: string, args: readonly unknown[], cause: unknown) {
    super(`reverted: ${reason}`, { cause })
    this.name = 'Reverted'
    this.reason = reason
    this.args = args
  }
}

export function contractAt<const abi extends Abi>(rpc: Rpc, address: Address, abi: abi): Contract<abi> {
  async function call<Result>(request: object, block?: bigint): Promise<Result> {
    try {
      return await rpc.request<Result>('eth_call', [{ ...request, to: address }, blockOrLatest(block)])
    } catch (error) {
      throw error instanceof RpcError ? revertedOf(error, abi) : error
    }
  }
  const encode: Contract<abi>['encode'] = (functionName, args) =>
    encodeFunctionData({ abi, functionName, args } as Parameters<typeof encodeFunctionData>[0])
  const question: Contract<abi>['question'] = (functionName, args) => ({
    to: address,
    data: encode(functionName, args),
    decode: (data) =>
      decodeFunctionResult({ abi, functionName, data } as Parameters<typeof decodeFunctionResult>[0]) as Returns<
        abi,
        typeof functionName
      >,
  })
  return {
    address,
    encode,
    question,
    async read(functionName, args, block) {
      const { data, decode } = question(functionName, args)
      return decode(await call<Hex>({ data }, block))
    },
    async simulate(terms, data, block) {
      await call({ ...termsOf(terms), data }, block).catch((error: unknown) => {
        throw error instanceof RpcError ? termsRefused(error, rpc.chainId) : error
      })
    },
  }
}

/** The terms as a node reads them. */
export function termsOf({ from, ...numbers }: CallTerms): object {
  const shown = Object.entries(numbers).map(([name, value]) => [name, `0x${value.toString(16)}`])
  return { from, ...Object.fromEntries(shown) }
}

export const OUT_OF_BUDGET = 'OutOfBudget'
export const OUT_OF_GAS = /out of gas|gas required exceeds|intrinsic gas too low|exceeds block gas limit/i

export const UNFUNDED = /insufficient funds/i

export function gasUnpaid(cause: RpcError): Problem {
  return new Problem('relayer_unfunded', 'The shop cannot pay for gas right now; try again later.', { cause })
}

/** A call that cannot even begin says something about our wallet, or about gas, and nothing about the contract. */
function termsRefused(error: RpcError, chainId: number): Error {
  const { message } = error
  if (OUT_OF_GAS.test(message)) return new Reverted(OUT_OF_BUDGET, [], error)
  if (UNFUNDED.test(message)) return gasUnpaid(error)
  if (/max fee per gas/i.test(message))
    return new Problem('chain_unavailable', `Gas on chain ${chainId} is dearer by now; try again.`, { cause: error })
  return error
}

/** A node's refusal for other reasons than a revert (out of gas money, a bad parameter) stays an RpcError. */
export function revertedOf(error: RpcError, abi: Abi): Error {
  const { data, message } = error
  if (typeof data !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(data))
    return /revert/i.test(message) ? new Reverted(message.slice(0, 200), [], error) : error
  if (data === '0x') return new Reverted('without a reason', [], error)
  try {
    const { errorName, args } = decodeErrorResult({ abi, data: data as Hex })
    const isText = errorName === 'Error' && typeof args?.[0] === 'string'
    return new Reverted(isText ? String(args[0]).slice(0, 200) : errorName, args ?? [], error)
  } catch {
    return new Reverted(`with ${data.slice(0, 10)}`, [], error)
  }
}

/** An event of this contract, or null when the log is of another kind. */
export function decodeEventLog<const abi extends Abi>(
  abi: abi,
  log: { readonly topics: readonly Hex[]; readonly data: Hex },
): DecodeEventLogReturnType<abi> | null {
  try {
    return decode({ abi, topics: log.topics as [Hex, ...Hex[]], data: log.data }) as DecodeEventLogReturnType<abi>
  } catch {
    return null
  }
}
