import { burnableCollection } from '../artifacts/BurnableCollection.ts'
import { craftToken } from '../artifacts/CraftToken.ts'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { formatUsd, usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import { sandboxDollars } from '../config/sandbox.ts'
import type { DevChain } from '../devchain/chain.ts'
import { type Act, invocation } from './deployer.ts'
import type { World } from './world.ts'

export type Funding = {
  /** What this call added, in whole units. */
  readonly funded: {
    readonly gas: string
    readonly USDC: string
    readonly pathUSD: string
    readonly craftTokens: string
  }
  readonly nfts: readonly { readonly contract: Address; readonly tokenId: string }[]
}

const ETHER = 10n ** 18n
const GAS = ETHER
const DOLLARS = usd(1_000_000_000n)
const CRAFT_TOKENS = 100n * ETHER
const NFTS = 3n

/** Everything that somebody needs to try every route of the shop. Each call gives once more. */
export async function fund(
  { chains, contracts, deployer }: Pick<World, 'chains' | 'contracts' | 'deployer'>,
  to: Address,
): Promise<Funding> {
  const { native, tempo } = chains
  const [collection] = contracts.collections
  if (!collection) throw new TypeError('the sandbox has a collection')
  const mintNfts = invocation(collection, burnableCollection.abi, 'mint', [to, NFTS])
  await refuseDeafReceiver(native, deployer.address, mintNfts, to)
  await addGas(native, to)
  await mintDollars(native, sandboxDollars.native, to)
  await mintDollars(tempo, sandboxDollars.tempo, to)
  await deployer.act(invocation(contracts.craftToken, craftToken.abi, 'mint', [to, CRAFT_TOKENS]))
  const minted = await deployer.act(mintNfts)
  return {
    funded: {
      gas: (GAS / ETHER).toString(),
      USDC: formatUsd(DOLLARS),
      pathUSD: formatUsd(DOLLARS),
      craftTokens: (CRAFT_TOKENS / ETHER).toString(),
    },
    nfts: (await tokenIdsIn(native, minted)).map((tokenId) => ({ contract: collection, tokenId })),
  }
}

/** Contracts that do not know ERC-721 refuse its tokens. Asked first, so that nothing is given by halves. */
async function refuseDeafReceiver(chain: DevChain, from: Address, { to, data }: Act, receiver: Address): Promise<void> {
  try {
    await chain.request({ method: 'eth_call', params: [{ from, to, data }, 'latest'] })
  } catch (cause) {
    throw new Problem('beneficiary_rejects', `${receiver} cannot receive ERC-721 tokens; fund a wallet instead.`, {
      cause,
    })
  }
}

async function addGas(chain: DevChain, to: Address): Promise<void> {
  const balance = BigInt((await chain.request({ method: 'eth_getBalance', params: [to, 'latest'] })) as Hex)
  await chain.request({ method: 'dev_setBalance', params: [to, `0x${(balance + GAS).toString(16)}`] })
}

async function mintDollars(chain: DevChain, token: Address, to: Address): Promise<void> {
  await chain.request({ method: 'dev_mintToken', params: [token, to, `0x${DOLLARS.toString(16)}`] })
}

/** The last topic of each `Transfer` is the token. */
async function tokenIdsIn(chain: DevChain, transaction: Hex): Promise<readonly string[]> {
  const { logs } = (await chain.request({ method: 'eth_getTransactionReceipt', params: [transaction] })) as {
    logs: readonly { topics: readonly Hex[] }[]
  }
  return logs.map(({ topics }) => BigInt(topics.at(-1)!).toString())
}
