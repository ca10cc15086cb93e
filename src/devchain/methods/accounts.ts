import { type Hex, toHex } from '../../base/hex.ts'
import { RpcError } from '../errors.ts'
import type { Methods, Node } from '../node.ts'
import { quantity } from '../quantity.ts'
import { readAddress, readBlock, readQuantity } from './params.ts'

/** What the chain knows about accounts, now or after an earlier block. */
export function accountMethods({ state, history, pool, miner }: Node): Methods {
  async function after<T>(tag: unknown, height: number, read: () => T): Promise<T> {
    const number = readBlock(tag, height, history.ledger)
    if (number === undefined || number > height) throw new RpcError(-32000, 'header not found')
    return history.atHeight(number, async () => read())
  }

  return {
    eth_getBalance([who, tag], height) {
      const address = readAddress(who)
      return after(tag, height, () => quantity(state.account(address).balance))
    },
    eth_getCode([who, tag], height) {
      const address = readAddress(who)
      return after(tag, height, () => toHex(state.account(address).code.bytes))
    },
    eth_getStorageAt([who, slot, tag], height) {
      const address = readAddress(who)
      const key = word(readQuantity(slot).toString(16))
      return after(tag, height, () => word(toHex(state.slot(address, key)).slice(2)))
    },
    eth_getTransactionCount([who, tag], height) {
      const address = readAddress(who)
      if (tag === 'pending' && height === history.ledger.head().number) return quantity(pool.nextNonce(address))
      return after(tag, height, () => quantity(miner.nonceOf(address, 0n)))
    },
  }
}

function word(digits: string): Hex {
  return `0x${digits.padStart(64, '0')}`
}
