import type { Hash } from '../../base/address.ts'
import type { Mining } from '../blocks/mining.ts'
import { RpcError } from '../errors.ts'
import type { Faults } from '../faults.ts'
import type { Methods, Node } from '../node.ts'
import type { SentTransaction } from '../transactions/envelope.ts'
import { readTransaction } from '../transactions/transaction.ts'
import { readData } from './params.ts'

/** The way in for transactions. */
export function sendMethods(options: {
  readonly node: Node
  readonly mining: Mining
  readonly faults: Faults
  readonly automine: boolean
}): Methods {
  const { node, mining, faults, automine } = options
  const { rules, history, miner, pool } = node

  /** Proved, affordable, and its nonce not used yet. */
  async function admit(transaction: SentTransaction): Promise<void> {
    if (history.ledger.find(transaction.hash)) throw new RpcError(rules.refusalCode, 'already known')
    await miner.check(transaction)
    pool.add(transaction)
  }

  return {
    async eth_sendRawTransaction([raw]): Promise<Hash> {
      const transaction = readTransaction(readData(raw), rules)
      const { hash } = transaction
      const occasion = { addresses: () => transaction.calls.map(({ to }) => to) }
      await admit(transaction)
      if (faults.strike('drop', occasion)) pool.remove(hash)
      if (faults.strike('stick', occasion)) pool.stick(hash)
      if (automine) await mining.mineEach()
      return hash
    },
  }
}
