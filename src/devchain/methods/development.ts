import * as AbiFunction from 'ox/AbiFunction'
import { testUsdc } from '../../artifacts/TestUsdc.ts'
import type { Address, Hash } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import type { Override } from '../blocks/block.ts'
import type { Mining } from '../blocks/mining.ts'
import { invalidParams, RpcError } from '../errors.ts'
import type { Faults } from '../faults.ts'
import type { Methods, Node } from '../node.ts'
import { quantity } from '../quantity.ts'
import { PATH_USD_ADDRESS, SYSTEM_ADDRESS } from '../rules.ts'
import { systemTransaction } from '../transactions/transaction.ts'
import { readAddress, readData, readHash, readNumber, readObject, readQuantity } from './params.ts'

/** Both test tokens have it, for the chain's own caller only. */
const mint = AbiFunction.fromAbi(testUsdc.abi, 'mint')

/** What Tempo's public faucet hands out: a million dollars. */
const TEMPO_FAUCET_AMOUNT = 1_000_000_000_000n

/** What a real chain cannot do. */
export function devMethods({ node, mining }: { readonly node: Node; readonly mining: Mining }): Methods {
  const { rules, state, history, miner, pool } = node
  const snapshots: { readonly height: number; readonly hash: Hash; readonly timeOffset: number }[] = []

  /** A block with one transaction of the chain's own. Throws when it reverts. */
  async function asSystem(to: Address, data: Hex): Promise<Hash> {
    const { nonce } = state.account(SYSTEM_ADDRESS)
    const transaction = systemTransaction({ to, data, nonce, chainId: rules.chainId })
    const block = await mining.mineOnly(transaction)
    if (!block.transactions[0]!.receipt.succeeded) throw new RpcError(-32000, `the system call to ${to} reverted`)
    return transaction.hash
  }

  const mintTo = (token: Address, to: Address, amount: bigint) =>
    asSystem(token, AbiFunction.encodeData(mint, [to, amount]))

  async function override(change: Override): Promise<true> {
    await miner.mine({ overrides: [change] })
    return true
  }

  return {
    async evm_mine() {
      await mining.mineBlock()
      return '0x0'
    },
    evm_increaseTime([seconds]) {
      history.setTimeOffset(history.timeOffset() + readSeconds(seconds))
      return quantity(Math.max(history.timeOffset(), 0))
    },
    evm_snapshot() {
      const { number: height, hash } = history.ledger.head()
      snapshots.push({ height, hash, timeOffset: history.timeOffset() })
      return quantity(snapshots.length)
    },
    /** False when there is no such snapshot, or a reorg has replaced the block it was taken at. */
    evm_revert([id]) {
      const [snapshot] = snapshots.splice(readNumber(id) - 1)
      if (!snapshot || history.ledger.block(snapshot.height)?.hash !== snapshot.hash) return false
      history.setTimeOffset(snapshot.timeOffset)
      history.rewind(snapshot.height)
      pool.clear()
      return true
    },
    dev_setBalance: ([address, balance]) => override({ address: readAddress(address), balance: readQuantity(balance) }),
    dev_setCode: ([address, code]) => override({ address: readAddress(address), code: readData(code) }),
    dev_mintToken: ([token, to, amount]) => mintTo(readAddress(token), readAddress(to), readQuantity(amount)),
    dev_systemCall: ([to, data]) => asSystem(readAddress(to), readData(data)),
    ...(rules.name === 'tempo' && {
      tempo_fundAddress: async ([address]: readonly unknown[]) => [
        await mintTo(PATH_USD_ADDRESS, readAddress(address), TEMPO_FAUCET_AMOUNT),
      ],
    }),
  }
}

/** Only on a chain that was created with faults. */
export function faultMethods(options: {
  readonly faults: Faults
  readonly mining: Mining
  readonly node: Pick<Node, 'pool' | 'rules'>
  readonly automine: boolean
}): Methods {
  const { faults, mining, node, automine } = options
  const { pool, rules } = node
  return {
    dev_fault([fault]) {
      faults.add(fault)
      return true
    },
    async dev_clearFaults() {
      faults.clear()
      pool.unstickAll()
      if (automine) await mining.mineEach()
      return true
    },
    /** `transactions` are mined again, or dropped; or only those in `drop` are, and what followed them from the same key waits for its turn. */
    async dev_reorg([depth, options = {}]) {
      const { transactions = 'remine', drop } = readObject(options)
      if (transactions !== 'remine' && transactions !== 'drop') throw invalidParams('transactions: remine or drop')
      const dropped = drop === undefined ? null : new Set([drop].flat().map(readHash))
      await mining.reorg(readNumber(depth), dropped ?? transactions)
      return true
    },
    /** A node that was restarted: whatever waited is forgotten. */
    dev_dropPool() {
      pool.clear()
      return true
    },
    dev_setBaseFee([fee]) {
      rules.baseFeePerGas = readQuantity(fee)
      return true
    },
  }
}

/** Unlike a quantity it may be negative: tests also go back. */
function readSeconds(value: unknown): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  return readNumber(value)
}
