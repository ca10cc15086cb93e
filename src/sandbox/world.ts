import { join } from 'node:path'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import type { Act } from '../chain/act.ts'
import { type Config, publicUrls } from '../config/config.ts'
import type { LoadedConfig } from '../config/load.ts'
import { type SandboxRole, sandboxKey } from '../config/published.ts'
import { nativeChain, sandboxDollars, sandboxRails } from '../config/sandbox.ts'
import type { DevChain } from '../devchain/chain.ts'
import { type DevChains, startDevChains } from '../devchain/chains.ts'
import { createWallet } from '../outbox/wallet.ts'
import { createDeployer, type Deployer } from './deployer.ts'
import { foundationActs, type SandboxContracts, sandboxContracts } from './foundation.ts'

type SandboxLoaded = Extract<LoadedConfig, { mode: 'sandbox' }>

/** Two chains in a thread, the contracts on them, and funded keys: everything a shop needs that is not the shop. */
export type World = {
  readonly config: Config
  readonly chains: DevChains
  readonly contracts: SandboxContracts
  readonly deployer: Deployer
  /** Chains that the shop cannot reach, by id: an operator practises a bad day. */
  readonly outages: Set<number>
  close(): Promise<void>
}

/** Failing deliveries are there to be tried, as often as anybody likes. */
const PLAY = { refundsPerPayer: 1_000_000, refundsPerDay: 10n ** 15n, receiverRefundPercent: 100 }

const ETHER = 10n ** 18n
const DOLLAR = 10n ** 6n

/** `chains` may run already, as tests and benches have them; otherwise they run in a thread and keep their journals in the data folder. */
export async function startWorld(loaded: SandboxLoaded, running?: DevChains): Promise<World> {
  const chains = running ?? (await startDevChains({ dataDir: join(loaded.common.store.dataDir, 'chains') }))
  try {
    const deployer = await foundWorld(chains)
    const contracts = sandboxContracts(deployer.address)
    const config = sandboxConfig(loaded)
    return { config, chains, contracts, deployer, outages: new Set(), close: () => chains.close() }
  } catch (error) {
    await chains.close()
    throw error
  }
}

/** The contracts, and money for whoever spends it. What is there already is left alone, so that a restart changes nothing. */
export async function foundWorld(chains: Pick<DevChains, 'native' | 'tempo'>): Promise<Deployer> {
  const deployer = createDeployer(chains.native, sandboxKey('deployer'))
  acts ??= foundationActs({
    deployer: deployer.address,
    minter: demoAddressOf('minter'),
    crafter: demoAddressOf('crafter'),
  })
  await deployer.found(acts)
  await fundKeys(chains)
  return deployer
}

/** The same for every world of a process. */
let acts: readonly Act[] | undefined

const addresses = new Map<SandboxRole, Address>()

/** Each is worked out once: a start asks a dozen times. */
export function demoAddressOf(role: SandboxRole): Address {
  const address = addresses.get(role) ?? createWallet(sandboxKey(role)).address
  addresses.set(role, address)
  return address
}

/** The configuration that production would read from the environment, made of the sandbox's own parts. */
export function sandboxConfig({ common, protocols, backend }: SandboxLoaded): Config {
  const contracts = sandboxContracts(demoAddressOf('deployer'))
  return {
    mode: 'sandbox',
    ...common,
    service: { ...common.service, ownershipProofs: ownershipProofs(common.http) },
    // Whoever tries the lot whose mint fails should see the refund while they look.
    limits: { ...common.limits, ...PLAY, delivery: { ...common.limits.delivery, retryMs: 100 } },
    receipts: { key: sandboxKey('receipts'), retired: { keys: [] } },
    ...sandboxRails(protocols, common.http, demoAddressOf('till')),
    game: {
      chain: nativeChain,
      // The cheapest of each shelf: what stands in examples is copied.
      examples: { itemId: 'lantern:1', nickname: 'Demo' },
      sale: {
        contract: contracts.sale,
        saleIds: null,
        exampleSaleId: 392,
        minterKey: sandboxKey('minter'),
      },
      craft: {
        controller: contracts.craftController,
        crafterKey: sandboxKey('crafter'),
        defaultAmount: ETHER,
        maxAmount: 1_000n * ETHER,
      },
      backend,
    },
  }
}

/** In the sandbox the key of the till is at hand; elsewhere it is kept offline, and signs there. */
function ownershipProofs(http: Config['http']): readonly Hex[] {
  const till = createWallet(sandboxKey('till'))
  const origins = new Set(publicUrls(http).map((url) => new URL(url).origin))
  return [...origins].map((origin) => till.signText(origin))
}

/** Tops up; a key that has enough is left alone. */
async function fundKeys({ native, tempo }: Pick<DevChains, 'native' | 'tempo'>): Promise<void> {
  for (const role of ['settler', 'treasury', 'minter', 'crafter', 'demo'] as const)
    await giveGas(native, demoAddressOf(role), 100n * ETHER)
  for (const role of ['treasury', 'demo'] as const) {
    await giveToken(native, sandboxDollars.native, demoAddressOf(role), 10_000n * DOLLAR)
    await giveToken(tempo, sandboxDollars.tempo, demoAddressOf(role), 10_000n * DOLLAR)
  }
}

export async function giveGas(chain: DevChain, to: Address, atLeast: bigint): Promise<void> {
  const balance = BigInt((await chain.request({ method: 'eth_getBalance', params: [to, 'latest'] })) as string)
  if (balance < atLeast / 2n)
    await chain.request({ method: 'dev_setBalance', params: [to, `0x${atLeast.toString(16)}`] })
}

export async function giveToken(chain: DevChain, token: Address, to: Address, atLeast: bigint): Promise<void> {
  const balance = await tokenBalance(chain, token, to)
  if (balance < atLeast / 2n)
    await chain.request({ method: 'dev_mintToken', params: [token, to, `0x${(atLeast - balance).toString(16)}`] })
}

async function tokenBalance(chain: DevChain, token: Address, owner: Address): Promise<bigint> {
  const data = `0x70a08231${owner.slice(2).toLowerCase().padStart(64, '0')}`
  return BigInt((await chain.request({ method: 'eth_call', params: [{ to: token, data }, 'latest'] })) as string)
}
