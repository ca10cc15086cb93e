import type { Hex } from 'viem'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { nativeCall } from '../../support/chain-reads.ts'
import type { TestShop } from '../../support/shop.ts'

/** The dev chain puts each transaction into a block of its own. With this the shop sees some of them in one block. */
export type BlockEnds = {
  wrap(chainId: number, transport: RpcTransport): RpcTransport
  /** As if it had been done in the newest block, behind what is in there: whoever asks about the end of that block hears how it was afterwards. */
  inSameBlock(shop: Pick<TestShop, 'chains'>, deed: () => Promise<unknown>): Promise<void>
}

const NATIVE = 84532

export function createBlockEnds(): BlockEnds {
  const ends = new Map<unknown, Hex>()
  return {
    wrap: (chainId, transport) => async (request, answerBytesMax) => {
      const [what, block] = request.params
      const end = chainId === NATIVE && request.method === 'eth_call' ? ends.get(block) : undefined
      return transport(end === undefined ? request : { ...request, params: [what, end] }, answerBytesMax)
    },
    async inSameBlock(shop, deed) {
      const block = await nativeCall(shop, 'eth_blockNumber')
      await deed()
      ends.set(block, await nativeCall(shop, 'eth_blockNumber'))
    },
  }
}
