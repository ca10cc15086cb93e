import { type Address, type Hash, sameAddress } from '../base/address.ts'
import type { Log } from '../base/log.ts'
import { isProblem } from '../base/problem.ts'
import { isContractCode, readCode } from '../chain/code.ts'
import { blockBefore, blockTime, finalBlock } from '../chain/head.ts'
import { readReceipt, readReceipts } from '../chain/receipt.ts'
import { transfersIn, transfersSoFar } from '../chain/transfers.ts'
import { accountIdOf, type ReceivingAccount } from '../domain/receiving-account.ts'
import { watchSends } from '../outbox/watch.ts'
import type { Database } from '../store/db.ts'
import { sendsOf } from '../store/sends/journal.ts'
import { createSendWatch, type WatchScope } from '../store/sends/watch.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import type { OpenRail } from './rails.ts'
import type { RoleSigner } from './signers.ts'

type AccountParts = {
  readonly rails: readonly OpenRail[]
  readonly signers: readonly RoleSigner[]
  /** Every key that is or was ours: what comes from one is nobody's payment, and must not go back to it. */
  readonly ownKeys: readonly Address[]
  readonly database: Database
  /** What this shop asked for before. */
  readonly past: readonly ShopTerms[]
  readonly log: Log
}

/** As deep as the largest payment has to lie. */
const MONEY_MAX = 2n ** 255n

/** Where each rail's money arrives, and where it arrived by earlier configurations: whoever pays there has paid us. */
export function createReceivingAccounts(parts: AccountParts): readonly ReceivingAccount[] {
  return parts.rails.flatMap((open) => accountsOf(parts, open))
}

function accountsOf(
  parts: AccountParts,
  { rail, chain, confirmations, sinceBlock }: OpenRail,
): readonly ReceivingAccount[] {
  const { past, signers, ownKeys, database } = parts
  const { rpc } = chain
  const { name, network, asset } = rail
  const earlier = past.filter(
    (terms) => terms.rail === name && terms.network === network && sameAddress(terms.asset, asset),
  )
  const places = new Map([rail, ...earlier].map(({ payTo }) => [payTo.toLowerCase(), payTo]))
  const own = [...ownKeys, ...places.values()]
  const idOf = (payTo: Address) => accountIdOf({ network, asset, payTo })
  return [...places.values()].map((payTo) => ({
    id: idOf(payTo),
    rail,
    payTo,
    sinceBlock,
    finalBlock: () => finalBlock(rpc, BigInt(confirmations(MONEY_MAX))),
    newestBlock: async () => (await rpc.newest()).number,
    transfers: (from, to) => transfersSoFar(rpc, { token: asset, to: payTo }, from, to),
    async transfersOf(transaction) {
      const receipt = await readReceipt(rpc, transaction)
      return receipt?.succeeded ? transfersIn(receipt, asset, [payTo]) : []
    },
    async mayBePaidBy(transaction) {
      const [known, receipts] = await Promise.all([
        rpc.everyone<{ blockHash: Hash | null } | null>('eth_getTransactionByHash', [transaction]),
        readReceipts(rpc, transaction),
      ])
      const isAnswered = known.some((one) => one !== undefined) && receipts.some((receipt) => receipt !== undefined)
      if (!isAnswered || known.some((one) => one?.blockHash === null)) return true
      return receipts.some((receipt) => receipt?.succeeded && transfersIn(receipt, asset, [payTo]).length > 0)
    },
    timeOf: ({ blockNumber }) => blockTime(rpc, blockNumber),
    blockBefore: async (time) => blockBefore(rpc, time, (await rpc.newest()).number),
    landAgain: landerOf(database, signers),
    watchSends: watcherOf(parts, { account: idOf(payTo), network, asset, payTo }),
    isContract: async (address) => isContractCode(await readCode(rpc, address)),
    isOwn: (address) => own.some((one) => sameAddress(one, address)),
  }))
}

/** On every chain that keys of ours write to: deliveries may be on another one than the money. */
function watcherOf({ database, signers, log }: AccountParts, scope: WatchScope): ReceivingAccount['watchSends'] {
  const watch = createSendWatch(database, scope)
  const chains = [...new Set(signers.map(({ rpc }) => rpc))]
  return async (lease) => {
    const missing = await Promise.all(
      chains.map((rpc) => {
        const senders = signers.filter((signer) => signer.rpc === rpc).map(({ sender }) => sender)
        // A chain that is silent now is looked at next time; the books of the others are kept meanwhile.
        return watchSends({ rpc, watch, senders, lease, log }).catch((error: unknown) => {
          if (!isProblem(error)) throw error
          log.warn('check of sent deliveries and refunds failed', { chainId: rpc.chainId, error })
          return []
        })
      }),
    )
    for (const { sender, role } of signers)
      await sender.tend(lease).catch((error: unknown) => log.warn('upkeep of a signing key failed', { role, error }))
    return missing.flat()
  }
}

/** Sends what settles an order once more: the same bytes, which land once. */
function landerOf(database: Database, signers: readonly RoleSigner[]): ReceivingAccount['landAgain'] {
  return async (orderId, lease) => {
    for (const send of await sendsOf(database, orderId)) {
      if (send.step !== 'settle') continue
      const senders = signers.map(({ sender }) => sender).filter(({ chainId }) => chainId === send.chainId)
      // Its key may have been rotated away.
      await (senders.find((sender) => sender.isOwn(send)) ?? senders[0])?.push(lease, send)
    }
  }
}
