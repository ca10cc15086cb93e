import { createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common'
import { type CustomPrecompile, createEVM, EVMError } from '@ethereumjs/evm'
import { Address as EvmAddress } from '@ethereumjs/util'
import type { Address } from '../../base/address.ts'
import { fromHex, type Hex, toHex } from '../../base/hex.ts'
import { lesser } from '../quantity.ts'
import { ecrecover } from './secp256k1.ts'
import type { State } from './state.ts'

export type EvmCall = { readonly to: Address | null; readonly value: bigint; readonly data: Hex }
export type EvmLog = { readonly address: Address; readonly topics: readonly Hex[]; readonly data: Hex }
export type AccessList = readonly { readonly address: Address; readonly storageKeys: readonly Hex[] }[]

/** What a running contract can learn about the block it runs in. */
export type BlockContext = {
  readonly number: number
  readonly timestamp: number
  readonly baseFeePerGas: bigint
  readonly gasLimit: bigint
  readonly randomness: Hex
}

type Message = {
  readonly calls: readonly EvmCall[]
  readonly from: Address
  readonly gas: bigint
  readonly gasPrice: bigint
  readonly accessList?: AccessList
  /** The sender's nonce was already counted up; a creation must not count it twice. */
  readonly nonceCounted?: boolean
}

export type RunOutcome = {
  /** After refunds: what the sender pays for. */
  readonly gasUsed: bigint
  /** Before refunds: what has to be there while it runs. */
  readonly gasSpent: bigint
  readonly output: Hex
  /** Null when all calls went through. `revert` comes with output; the rest are words of the EVM, such as `out of gas`. */
  readonly failure: string | null
  readonly created: Address | null
  readonly logs: readonly EvmLog[]
  /** Something asked in which block it runs; in another one it might go otherwise. */
  readonly readsBlock: boolean
}

/** Runs messages on the state. The only place that knows EthereumJS's machine. */
export type Machine = {
  /** Runs the calls in order, all or none: after a failure the state is as before. */
  run(message: Message, block: BlockContext): Promise<RunOutcome>
}

export const REVERT = EVMError.errorMessages.REVERT

export async function createMachine(options: {
  readonly chainId: number
  readonly state: State
  readonly precompiles: readonly CustomPrecompile[]
  readonly blockHash: (number: number) => Hex | undefined
}): Promise<Machine> {
  const { chainId, state, precompiles, blockHash } = options
  const common = createCustomCommon({ chainId, name: `dev-${chainId}` }, Mainnet, {
    hardfork: Hardfork.Prague,
    customCrypto: { ecrecover },
  })
  const evm = await createEVM({
    common,
    stateManager: state,
    customPrecompiles: [...precompiles],
    blockchain: hashesOf(blockHash),
  })
  const precompileAddresses = [...evm.precompiles.keys()]

  return {
    async run(message, block) {
      warmUp(evm, precompileAddresses, message)
      await evm.journal.checkpoint()
      let outcome: RunOutcome | undefined
      try {
        outcome = await runCalls(evm, message, block)
        return outcome
      } finally {
        if (outcome?.failure === null) await evm.journal.commit()
        else await evm.journal.revert()
        await evm.journal.cleanup()
        state.clearCaches()
        evm.transientStorage.clear()
      }
    },
  }
}

type Evm = Awaited<ReturnType<typeof createEVM>>

function warmUp(evm: Evm, precompileAddresses: readonly string[], { from, accessList = [] }: Message): void {
  for (const address of precompileAddresses) evm.journal.addAlwaysWarmAddress(address)
  evm.journal.addAlwaysWarmAddress(from.toLowerCase())
  for (const { address, storageKeys } of accessList) {
    evm.journal.addAlwaysWarmAddress(address.toLowerCase())
    for (const slot of storageKeys) evm.journal.addAlwaysWarmSlot(address.toLowerCase(), slot.toLowerCase())
  }
}

async function runCalls(evm: Evm, message: Message, context: BlockContext): Promise<RunOutcome> {
  const { block, wasRead } = blockOf(context)
  const logs: EvmLog[] = []
  let gasLeft = message.gas
  let refund = 0n
  let output: Hex = '0x'
  let created: Address | null = null
  for (const call of message.calls) {
    const { execResult, createdAddress } = await runCall(evm, call, { message, block, gasLimit: gasLeft })
    gasLeft -= execResult.executionGasUsed
    output = toHex(execResult.returnValue)
    if (execResult.exceptionError) {
      const gasSpent = message.gas - gasLeft
      const failure = execResult.exceptionError.error
      return { gasUsed: gasSpent, gasSpent, output, failure, created: null, logs: [], readsBlock: wasRead() }
    }
    refund += execResult.gasRefund ?? 0n
    if (createdAddress) created = toHex(createdAddress.bytes)
    for (const [address, topics, data] of execResult.logs ?? []) {
      logs.push({ address: toHex(address), topics: topics.map(toHex), data: toHex(data) })
    }
    // EIP-6780: an account dies only in the transaction that made it.
    for (const address of execResult.selfdestruct?.keys() ?? []) {
      if (execResult.createdAddresses?.has(address)) await evm.journal.deleteAccount(new EvmAddress(fromHex(address)))
    }
  }
  const gasSpent = message.gas - gasLeft
  return {
    gasUsed: gasSpent - lesser(refund, gasSpent / 5n),
    gasSpent,
    output,
    failure: null,
    created,
    logs,
    readsBlock: wasRead(),
  }
}

type CallTerms = { readonly message: Message; readonly block: EvmBlock; readonly gasLimit: bigint }

function runCall(evm: Evm, { to, value, data }: EvmCall, { message, block, gasLimit }: CallTerms) {
  const caller = new EvmAddress(fromHex(message.from))
  if (to) evm.journal.addAlwaysWarmAddress(to.toLowerCase())
  return evm.runCall({
    block,
    caller,
    origin: caller,
    gasPrice: message.gasPrice,
    gasLimit,
    value,
    data: fromHex(data),
    // EthereumJS takes the address of a creation from the nonce before the last count.
    skipNonceIncrement: to !== null || message.nonceCounted === true,
    ...(to === null ? {} : { to: new EvmAddress(fromHex(to)) }),
  })
}

type EvmBlock = ReturnType<typeof blockOf>['block']

/** The block as a running contract sees it, and whether one has looked. */
function blockOf({ number, timestamp, baseFeePerGas, gasLimit, randomness }: BlockContext) {
  let isRead = false
  const read = <Value>(value: Value): Value => {
    isRead = true
    return value
  }
  const header = {
    get number() {
      return read(BigInt(number))
    },
    get timestamp() {
      return read(BigInt(timestamp))
    },
    get prevRandao() {
      return read(fromHex(randomness))
    },
    get baseFeePerGas() {
      return read(baseFeePerGas)
    },
    // The same in every block of this chain.
    coinbase: new EvmAddress(new Uint8Array(20)),
    difficulty: 0n,
    gasLimit,
    getBlobGasPrice: () => 1n,
  }
  return { block: { header }, wasRead: () => isRead }
}

/** The BLOCKHASH instruction asks a blockchain object. */
function hashesOf(blockHash: (number: number) => Hex | undefined) {
  const blockchain = {
    async getBlock(number: number) {
      const hash = blockHash(number)
      return { hash: () => (hash ? fromHex(hash) : new Uint8Array(32)) }
    },
    putBlock: async () => {},
    shallowCopy: () => blockchain,
  }
  return blockchain
}
