import { encodeFunctionData } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { burnableCollection } from '../../src/artifacts/BurnableCollection.ts'
import { testTip20 } from '../../src/artifacts/TestTip20.ts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import type { Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { BURIAL } from '../../src/config/networks.ts'
import { createDevChain, type DevChain } from '../../src/devchain/chain.ts'
import { PATH_USD_ADDRESS } from '../../src/devchain/rules.ts'
import { fund } from '../../src/sandbox/faucet.ts'
import { giveGas, startWorld, type World } from '../../src/sandbox/world.ts'
import { signTempo } from '../devchain/tempo-signing.ts'
import { FACILITATOR_KEY } from './actors/facilitator.ts'
import { createSimChain, type SimChain } from './chain.ts'
import { FOUNDING_MS } from './process.ts'

export type Payer = {
  readonly account: PrivateKeyAccount
  readonly key: Hex
  readonly address: Address
  readonly nickname: string
  readonly nfts: readonly { readonly contract: Address; readonly tokenId: string }[]
}

/** Both chains with all contracts, and people with money, tokens and approvals. Founded once, rewound for every universe. */
export type SimWorld = {
  readonly config: Config
  readonly contracts: World['contracts']
  readonly native: SimChain
  readonly tempo: SimChain
  readonly payers: readonly Payer[]
  setTime(now: () => number): void
  rewind(): Promise<void>
}

const PAYERS = 8
/** Who attacks, and whose allowance they hold. */
export const ENEMY = 7
export const VICTIM = 6
/** Older than any depth that anybody asks for. */
const BLOCKS_BEFORE = 200

export async function foundWorld(): Promise<SimWorld> {
  const time = { now: () => FOUNDING_MS, block: null as number | null }
  const clock = { now: () => time.block ?? time.now(), sleep: () => new Promise<void>(() => {}) }
  const native = await createDevChain({ rules: 'native', faults: true, clock, blockTimeMs: 1 })
  const tempo = await createDevChain({ rules: 'tempo', faults: true, clock, blockTimeMs: 1 })
  const mine = () => Promise.all([native, tempo].map((chain) => chain.request({ method: 'evm_mine' })))
  let isFounded = false
  const mining = (async () => {
    while (!isFounded) {
      await mine()
      await new Promise(setImmediate)
    }
  })()
  const loaded = loadConfig({ PORT: '4020' })
  if (loaded.mode !== 'sandbox') throw new TypeError('the simulator runs the sandbox')
  const world = await startWorld(loaded, { native, tempo, close: async () => {} })
  const payers: Payer[] = []
  for (let index = 0; index < PAYERS; index++) payers.push(await newPayer(world, native, index))
  await allow(tempo, payers[VICTIM]!, payers[ENEMY]!.address)
  await giveGas(native, privateKeyToAccount(FACILITATOR_KEY).address, 10n ** 20n)
  isFounded = true
  await mining
  for (let i = 0; i < BLOCKS_BEFORE; i++) await mine()
  const chains = {
    native: await createSimChain(native, 2_000, time),
    tempo: await createSimChain(tempo, 500, time),
  }
  return {
    config: asInProduction(world.config),
    contracts: world.contracts,
    ...chains,
    payers,
    setTime(now) {
      time.now = now
    },
    async rewind() {
      await chains.native.rewind()
      await chains.tempo.rewind()
    },
  }
}

/** Chains that make blocks by themselves, and limits that no honest universe meets. Deliveries are given up within its time. */
function asInProduction(config: Config): Config {
  const rate = { unpaid: 1_000_000, quote: 1_000_000, read: 1_000_000, failed: 1_000_000 }
  const delivery = { mintMs: 60_000, gameMs: 300_000, craftMs: 60_000, retryMs: 500 }
  const limits = { ...config.limits, rate, delivery, replaysPerPayment: 1_000 }
  const real = { burial: BURIAL }
  const { x402, mpp, game } = config
  return {
    ...config,
    limits,
    store: { ...config.store, migrate: 'check' },
    x402: { ...x402!, chain: { ...x402!.chain, ...real } },
    mpp: { ...mpp!, chain: { ...mpp!.chain, ...real } },
    game: { ...game, chain: { ...game.chain, ...real } },
    operations: { ...config.operations, reconcileSeconds: 15, returnAfterSeconds: 180 },
  }
}

async function newPayer(world: World, native: DevChain, index: number): Promise<Payer> {
  const key: Hex = `0x${(0x51a0001 + index).toString(16).padStart(64, '0')}`
  const account = privateKeyToAccount(key)
  const { nfts } = await fund(world, account.address)
  const { craftController } = world.contracts
  const approvals = nfts.map(({ contract: to, tokenId }) => ({
    to,
    data: encodeFunctionData({
      abi: burnableCollection.abi,
      functionName: 'approve',
      args: [craftController, BigInt(tokenId)],
    }),
  }))
  for (const [nonce, { to, data }] of approvals.entries()) await sendPlain(native, account, { nonce, to, data })
  return { account, key, address: account.address, nickname: `Payer${index}`, nfts }
}

/** For something else, long ago. */
async function allow(tempo: DevChain, { key }: Payer, spender: Address): Promise<void> {
  const data = encodeFunctionData({ abi: testTip20.abi, functionName: 'approve', args: [spender, 1_000_000n] })
  const raw = signTempo(key, { calls: [{ to: PATH_USD_ADDRESS, data }] })
  await tempo.request({ method: 'eth_sendRawTransaction', params: [raw] })
}

async function sendPlain(
  chain: DevChain,
  account: PrivateKeyAccount,
  call: { readonly nonce: number; readonly to: Address; readonly data: Hex },
): Promise<void> {
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 0n, gas: 200_000n }
  const raw = await account.signTransaction({ type: 'eip1559', chainId: chain.chainId, ...fees, ...call })
  await chain.request({ method: 'eth_sendRawTransaction', params: [raw] })
}
