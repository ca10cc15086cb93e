import { said } from '../../checkout/counter.ts'
import { type Meddler, Refused } from '../../checkout/meddler.ts'
import type { TestShop } from '../../support/shop.ts'
import { type startBetweenNodes, step } from './stepped-shop.ts'

/** So many of the last blocks a node keeps that forgets. */
const BLOCKS_KEPT = 8

/** The first block of which a node that forgets still has something. */
export function keptSince({ chains }: Pick<TestShop, 'chains'>): (chainId: number) => Promise<number> {
  return async (chainId) => {
    const chain = [chains.native, chains.tempo].find((one) => one.chainId === chainId)!
    return Number(await chain.request({ method: 'eth_blockNumber' })) - BLOCKS_KEPT
  }
}

/** It says of blocks that it has thrown away that nothing is in them. Returns what makes it remember again. */
export function forget(node: Meddler, shop: Pick<TestShop, 'chains'>): readonly (() => void)[] {
  const since = keptSince(shop)
  const isOld = async (block: string, chainId: number) => Number(block) < (await since(chainId))
  return [
    ...['eth_getTransactionReceipt', 'eth_getTransactionByHash'].map((method) =>
      node.meddle(method, async (_params, ask, chainId) => {
        const shown = (await ask()) as { readonly blockNumber: string } | null
        return shown && (await isOld(shown.blockNumber, chainId)) ? null : shown
      }),
    ),
    node.meddle('eth_getLogs', async (_params, ask, chainId) => {
      const kept = await since(chainId)
      const logs = (await ask()) as readonly { readonly blockNumber: string }[]
      return logs.filter(({ blockNumber }) => Number(blockNumber) >= kept)
    }),
    ...['eth_call', 'eth_getTransactionCount'].map((method) =>
      node.meddle(method, async ([, tag], ask, chainId) => {
        if (tag !== 'latest' && (await isOld(tag as string, chainId)))
          throw new Refused({ code: -32000, message: 'missing trie node' })
        return ask()
      }),
    ),
  ]
}

export type Nodes = Pick<Awaited<ReturnType<typeof startBetweenNodes>>, 'shop' | 'clock' | 'meddler' | 'other'>

/** Buys while nobody shows what lands, and comes back after hours, when nodes have forgotten it. Returns what the order was after each look. */
export async function awayFor(
  { shop, clock, meddler, other }: Nodes,
  forget: () => void,
  buy: () => Promise<Response>,
): Promise<readonly string[]> {
  const silent = ['eth_getTransactionReceipt', 'eth_getLogs'].flatMap((method) =>
    [meddler, other].map((node) =>
      node.meddle(method, () => {
        throw new Error('nobody answers')
      }),
    ),
  )
  const { orderId } = await said(await buy())
  for (const speak of silent) speak()
  forget()
  clock.move(10_000_000)
  const { native, tempo } = shop.chains
  for (const chain of [native, tempo])
    for (let mined = 0; mined < 2 * BLOCKS_KEPT; mined++) await chain.request({ method: 'evm_mine', params: [] })
  const statuses: string[] = []
  for (let look = 0; look < 5; look++) statuses.push((await step(shop, orderId)).status)
  return statuses
}
