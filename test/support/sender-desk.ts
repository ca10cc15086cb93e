import type { TestContext } from 'node:test'
import { encodeFunctionData } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import type { Address } from '../../src/base/address.ts'
import { type Clock, systemClock } from '../../src/base/clock.ts'
import type { Hex } from '../../src/base/hex.ts'
import { createLog } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'
import { createHeadSource } from '../../src/chain/head.ts'
import { createRpc, type Rpc } from '../../src/chain/rpc.ts'
import { providerTransport } from '../../src/chain/transport.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { USDC_ADDRESS } from '../../src/devchain/rules.ts'
import type { Call, Journal, Send } from '../../src/domain/journal.ts'
import { createFeeSource, type FeeSource } from '../../src/outbox/fees.ts'
import type { SendJob } from '../../src/outbox/queue.ts'
import { createSender, type Sender, type SenderOptions } from '../../src/outbox/sender.ts'
import type { SendState } from '../../src/outbox/state.ts'
import { createWallet, type Wallet } from '../../src/outbox/wallet.ts'
import { createJournal } from '../../src/store/sends/journal.ts'
import { createMeddler, type Meddler } from '../checkout/meddler.ts'
import type { TestStore } from './database.ts'
import { leaseOn } from './lease.ts'

/** A sender that tells the state of what it has sent, and nothing else. */
type DeskSender = Omit<Sender, 'send'> & {
  send(job: SendJob, call: Call): Promise<SendState>
  /** Follows the newest transaction of a step. */
  resume(job: SendJob): Promise<SendState>
}

/** One key on a chain that can be told to lose, forget, delay and lie, and as many processes with that key as wanted. */
export type SenderDesk = {
  readonly chain: DevChain
  readonly rpc: Rpc
  /** Before the first node. The second one, where there is one, always tells the truth. */
  readonly meddler: Meddler
  readonly wallet: Wallet
  readonly journal: Journal
  /** Fees as the chain has them, instead of the fixed ones. */
  readonly liveFees: FeeSource
  /** What was told to people. */
  readonly alarms: readonly string[]
  /** Another process with the same key. */
  sender(options?: Partial<SenderOptions>): Promise<DeskSender>
  /** The newest transaction of a step, as it is written down. */
  sendOf(job: Pick<SendJob, 'orderId'>): Promise<Send>
  ask<Answer = unknown>(method: string, ...params: unknown[]): Promise<Answer>
  fault(fault: object): Promise<unknown>
  clear(): Promise<unknown>
  /** So many blocks that nothing below is taken back. */
  bury(): Promise<void>
  /** Every transaction of the key on the chain, by nonce. */
  landed(): Promise<readonly { readonly nonce: number; readonly to: Address }[]>
  /** A step of an order, and the right to work on it. */
  newErrand(step?: string): Promise<SendJob>
  usdcOf(owner: Address): Promise<bigint>
}

export const FEES: FeeSource = {
  current: async () => ({ maxFeePerGas: 30_000_000_000n, maxPriorityFeePerGas: 1_000_000n, baseFee: 1_000_000n }),
}

export const BURIAL = { blocks: 6n, ms: 0 }

export const target = (n: number): Address => `0x${n.toString(16).padStart(40, 'a')}`
export const callOf = (n: number): Call => ({ to: target(n), data: '0x', gas: 30_000n })

export type DeskOptions = { readonly hasSecondNode?: boolean; readonly clock?: Clock }

export async function senderDesk(
  t: Pick<TestContext, 'after'>,
  store: TestStore,
  { hasSecondNode = false, clock = systemClock }: DeskOptions = {},
): Promise<SenderDesk> {
  const chain = await createDevChain({ rules: 'native', faults: true, clock })
  t.after(() => chain.close())
  const meddler = createMeddler()
  const direct = providerTransport(chain)
  const transports = [meddler.wrap(84532, direct), ...(hasSecondNode ? [direct] : [])]
  const rpc = createRpc({ chainId: 84532, transports, clock })
  const wallet = createWallet(new Secret(generatePrivateKey()))
  const ask = <Answer>(method: string, ...params: unknown[]) => chain.request({ method, params }) as Promise<Answer>
  await ask('dev_setBalance', wallet.address, '0x56bc75e2d63100000')
  const alarms: string[] = []
  const log = createLog({ level: 'error', clock, write: (line) => alarms.push(line) })
  const sendOf = async ({ orderId }: Pick<SendJob, 'orderId'>) =>
    (await createJournal(store.db).ofOrder(orderId)).at(-1)!
  return {
    chain,
    rpc,
    meddler,
    wallet,
    journal: createJournal(store.db),
    liveFees: createFeeSource({ head: createHeadSource({ rpc, clock }), tipWei: 0n }),
    alarms,
    sendOf,
    async sender(options = {}) {
      const sender = createSender({
        rpc,
        wallet,
        journal: createJournal(await store.replica()),
        fees: FEES,
        clock,
        log,
        waitMs: 1_500,
        stuckAfterMs: 150,
        burial: BURIAL,
        paysGasInCoin: true,
        ...options,
      })
      return {
        ...sender,
        send: async (job, call) => (await sender.send(job, call)).state,
        resume: async (job) => sender.push(job.lease, await sendOf(job)),
      }
    },
    ask,
    fault: (fault) => ask('dev_fault', fault),
    clear: () => ask('dev_clearFaults'),
    async bury() {
      for (let block = 0n; block < BURIAL.blocks; block++) await ask('evm_mine')
    },
    landed: () => transactionsOf(ask, wallet.address),
    async newErrand(step = 'mint') {
      const orderId = `ord_${++lastOrder}`
      return { lease: await leaseOn(store.db, orderId), orderId, step }
    },
    async usdcOf(owner) {
      const data = encodeFunctionData({ abi: testUsdc.abi, functionName: 'balanceOf', args: [owner] })
      return BigInt(await ask<Hex>('eth_call', { to: USDC_ADDRESS, data }, 'latest'))
    },
  }
}

let lastOrder = 0

async function transactionsOf(ask: SenderDesk['ask'], sender: Address) {
  const height = Number(await ask('eth_blockNumber'))
  type Block = { readonly transactions: readonly { from: Address; nonce: Hex; to: Address }[] }
  const numbers = Array.from({ length: height + 1 }, (_, number) => `0x${number.toString(16)}`)
  const blocks = await Promise.all(numbers.map((number) => ask<Block>('eth_getBlockByNumber', number, true)))
  return blocks
    .flatMap(({ transactions }) => transactions)
    .filter(({ from }) => from.toLowerCase() === sender.toLowerCase())
    .map(({ nonce, to }) => ({ nonce: Number(nonce), to }))
}
