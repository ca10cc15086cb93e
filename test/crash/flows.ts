import assert from 'node:assert/strict'
import { keccak256, toBytes } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import type { DevChains } from '../../src/devchain/chains.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { mppPullUnderTest, mppPushUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { addressWord } from '../support/hex-words.ts'
import type { TestShop } from '../support/shop.ts'

/** A purchase that is killed again and again, and the judge who asks only the chain and the game what really happened. */
export type Flow = {
  readonly name: string
  readonly rail: RailUnderTest
  readonly path: string
  /** What the buyer needs beside money: tokens, approvals, a player. Something may have to be bought for it at a shop that runs. */
  prepare?(world: CrashWorld, buyer: PrivateKeyAccount, shopUrl: string): Promise<unknown>
  body(buyer: PrivateKeyAccount, prepared: unknown): object | null
  readonly price: bigint
  /** How many goods this buyer really got, as the outside world has it. */
  delivered(world: CrashWorld, buyer: PrivateKeyAccount, prepared: unknown): Promise<number>
  /** What a finished purchase leaves: the good, or the money back. */
  readonly ends: 'delivered' | 'refunded'
}

export type CrashWorld = Pick<TestShop, 'chains' | 'config' | 'world'> & {
  readonly store: Pick<TestShop['store'], 'db'>
}

const TRANSFER = keccak256(toBytes('Transfer(address,address,uint256)'))
export const rails: readonly RailUnderTest[] = [x402UnderTest, mppPullUnderTest, mppPushUnderTest]

/** The core's own flows: a purchase that is delivered, and one that ends in a refund. */
export const flows: readonly Flow[] = rails.flatMap((rail): Flow[] => [
  {
    name: `a lot by ${rail.name}`,
    rail,
    path: `/agentic/${rail.rail}/buy`,
    body: ({ address }) => ({ saleId: 392, quantity: 2, beneficiary: address }),
    price: 500_000n,
    delivered: async ({ chains, config }, { address }) =>
      (await nftsOf(chains, config.game.sale!.contract, address)) / 2,
    ends: 'delivered',
  },
  {
    name: `a lot whose mint fails, by ${rail.name}`,
    rail,
    path: `/agentic/${rail.rail}/buy`,
    body: ({ address }) => ({ saleId: 399, beneficiary: address }),
    price: 500_000n,
    delivered: ({ chains, config }, { address }) => nftsOf(chains, config.game.sale!.contract, address),
    ends: 'refunded',
  },
])

export async function nftsOf({ native }: DevChains, contract: Address, owner: Address): Promise<number> {
  const data = `0x70a08231${addressWord(owner).slice(2)}`
  return Number(await native.request({ method: 'eth_call', params: [{ to: contract, data }, 'latest'] }))
}

/** How often, and how much, money went from one address to another on the rail's own chain. */
export async function transfers(
  { chains, config }: CrashWorld,
  { rail }: RailUnderTest,
  from: Address,
  to: Address,
): Promise<readonly bigint[]> {
  const [chain, token] =
    rail === 'x402' ? [chains.native, config.x402!.asset] : [chains.tempo, config.mpp!.currency.address]
  const filter = {
    address: token,
    fromBlock: '0x0',
    toBlock: 'latest',
    topics: [TRANSFER, addressWord(from), addressWord(to)],
  }
  const logs = (await chain.request({ method: 'eth_getLogs', params: [filter] })) as { data: Hex }[]
  return logs.map(({ data }) => BigInt(data))
}

/** Charged once and delivered once, or charged once and refunded once, or not charged at all. */
export async function judge(
  world: CrashWorld,
  flow: Flow,
  buyer: PrivateKeyAccount,
  prepared: unknown,
  finalStatus: number,
): Promise<void> {
  const { config } = world
  const till = flow.rail.rail === 'x402' ? config.x402!.payTo : config.mpp!.recipient
  const paid = await transfers(world, flow.rail, buyer.address, till)
  const refunded = await transfers(world, flow.rail, demoAddressOf('treasury'), buyer.address)
  const delivered = await flow.delivered(world, buyer, prepared)
  const told = { flow: flow.name, finalStatus, paid, refunded, delivered }
  if (finalStatus === 402) {
    assert.deepEqual(
      { ...told },
      { ...told, paid: [], refunded: [], delivered: 0 },
      'a 402 means that nothing was taken',
    )
  } else if (flow.ends === 'delivered') {
    assert.deepEqual({ ...told }, { ...told, finalStatus: 200, paid: [flow.price], refunded: [], delivered: 1 })
  } else {
    assert.deepEqual(
      { ...told },
      { ...told, finalStatus: 409, paid: [flow.price], refunded: [flow.price], delivered: 0 },
    )
  }
}
