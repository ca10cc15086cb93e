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

type Transfer = { readonly data: Hex; readonly transactionHash: Hex }

/** How often, and how much, money went from one address to another on the rail's own chain. */
export async function transfers(
  world: CrashWorld,
  rail: RailUnderTest,
  from: Address,
  to: Address,
): Promise<readonly bigint[]> {
  return (await transfersOf(world, rail, from, to)).map(({ data }) => BigInt(data))
}

async function transfersOf(
  { chains, config }: CrashWorld,
  { rail }: RailUnderTest,
  from: Address,
  to: Address,
): Promise<readonly Transfer[]> {
  const [chain, token] =
    rail === 'x402' ? [chains.native, config.x402!.asset] : [chains.tempo, config.mpp!.currency.address]
  const filter = {
    address: token,
    fromBlock: '0x0',
    toBlock: 'latest',
    topics: [TRANSFER, addressWord(from), addressWord(to)],
  }
  return (await chain.request({ method: 'eth_getLogs', params: [filter] })) as Transfer[]
}

/**
 * What a payer reads who asks for what the chain shows: no payment of theirs is denied. One that the shop sent has an order, whatever became of the
 * process that sent it; only one that the payer sent may be there without a purchase.
 */
export async function assertNotDenied(
  world: CrashWorld,
  { rail, path }: Flow,
  buyer: PrivateKeyAccount,
  shopUrl: string,
): Promise<void> {
  const till = tillOf(world, rail)
  for (const { transactionHash } of await transfersOf(world, rail, buyer.address, till))
    for (const place of ['/payments', ...statusPlace(path)]) {
      const answer = await fetch(`${shopUrl}${place}/${transactionHash}`)
      const body = await answer.text()
      const isTrue = answer.status < 300 || (answer.status === 409 && rail === mppPushUnderTest)
      assert.ok(isTrue && !body.includes('"taken":false'), `${place}/${transactionHash}: ${answer.status} ${body}`)
    }
}

/** What is sold and done in one step has none. */
function statusPlace(path: string): readonly string[] {
  if (path.endsWith('/buy')) return [path.replace(/buy$/, 'purchases')]
  return path.startsWith('/craft/') ? [path.replace(/[^/]+$/, 'actions')] : []
}

function tillOf({ config }: CrashWorld, { rail }: RailUnderTest): Address {
  return rail === 'x402' ? config.x402!.payTo : config.mpp!.recipient
}

/** Charged once and delivered once, or charged once and refunded once, or not charged at all. */
export async function judge(
  world: CrashWorld,
  flow: Flow,
  buyer: PrivateKeyAccount,
  prepared: unknown,
  finalStatus: number,
): Promise<void> {
  const paid = await transfers(world, flow.rail, buyer.address, tillOf(world, flow.rail))
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
