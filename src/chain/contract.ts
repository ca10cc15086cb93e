import type {
  Abi,
  AbiEvent,
  ContractFunctionArgs,
  ContractFunctionName,
  ContractFunctionReturnType,
  DecodeEventLogReturnType,
} from 'viem'
import {
  decodeEventLog as decode,
  decodeErrorResult,
  decodeFunctionResult,
  encodeFunctionData,
  getAbiItem,
  toEventSelector,
} from 'viem/utils'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
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

/** One contract on one chain: reads, trials and calldata by name, typed by its ABI. */
export type Contract<abi extends Abi> = {
  readonly address: Address
  question<name extends Functions<abi>>(name: name, args: Arguments<abi, name>): Question<Returns<abi, name>>
  read<name extends Functions<abi>>(name: name, args: Arguments<abi, name>): Promise<Returns<abi, name>>
  encode<name extends Functions<abi>>(name: name, args: Arguments<abi, name>): Hex
  /** Gas that the call would take from this sender now. Throws Reverted when the contract would refuse. */
  estimate(from: Address, data: Hex): Promise<bigint>
  /** Runs the call without a trace. Throws Reverted when the contract would refuse. */
  simulate(from: Address, data: Hex): Promise<void>
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
  async function call<Result>(method: string, request: { from?: Address; data: Hex }): Promise<Result> {
    const params = method === 'eth_call' ? [{ ...request, to: address }, 'latest'] : [{ ...request, to: address }]
    try {
      return await rpc.request<Result>(method, params)
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
    async read(functionName, args) {
      const { data, decode } = question(functionName, args)
      return decode(await call<Hex>('eth_call', { data }))
    },
    estimate: async (from, data) => BigInt(await call<Hex>('eth_estimateGas', { from, data })),
    async simulate(from, data) {
      await call('eth_call', { from, data })
    },
  }
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

/** What a log of this event begins with. */
export function eventTopic(abi: Abi, name: string): Hex {
  return toEventSelector(getAbiItem({ abi, name }) as AbiEvent)
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
