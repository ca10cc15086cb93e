import { type Address, sameAddress } from '../base/address.ts'
import type { Log } from '../base/log.ts'
import { isProblem } from '../base/problem.ts'
import { isContractCode, readCode } from '../chain/code.ts'
import { authorizationBehind } from '../chain/eip3009.ts'
import { blockTime } from '../chain/head.ts'
import { readReceipt } from '../chain/receipt.ts'
import { memoBehind } from '../chain/tip20.ts'
import { transfersIn, transfersTo } from '../chain/transfers.ts'
import { watchSends } from '../chain/watch.ts'
import { type Config, confirmationsFor } from '../config/config.ts'
import type { Rail, RailName } from '../domain/rail.ts'
import type { Till, Transfer } from '../domain/till.ts'
import { isDeepEnough } from '../rails/depth.ts'
import { tagIn, transferIdentity } from '../rails/mpp/memo.ts'
import { identityOf as nonceIdentity } from '../rails/x402/wire.ts'
import type { Database } from '../store/db.ts'
import { sendsOf } from '../store/journal.ts'
import { createSendWatch, type WatchScope } from '../store/send-watch.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import type { ChainAccess } from './chains.ts'
import type { Signer } from './signers.ts'

export type TillParts = {
  readonly config: Config
  readonly rails: ReadonlyMap<RailName, Rail>
  readonly chainOf: (chain: Config['game']['chain']) => ChainAccess
  readonly signers: readonly Signer[]
  readonly database: Database
  /** What this shop asked for before. */
  readonly past: readonly ShopTerms[]
  readonly log: Log
}

/** Where each rail's money arrives, and where it arrived by earlier configurations: whoever pays there has paid us. */
export function createTills(parts: TillParts): readonly Till[] {
  const { config, rails, chainOf } = parts
  const { x402, mpp } = config
  const tills: Till[] = []
  const x402Rail = rails.get('x402')
  if (x402 && x402Rail) {
    const chain = chainOf(x402.chain)
    const identityOf = async ({ transaction, logIndex }: Transfer): Promise<string | null> => {
      const receipt = await readReceipt(chain.rpc, transaction)
      const authorization = receipt && authorizationBehind(receipt, x402.asset, logIndex)
      return authorization && nonceIdentity(x402.network, x402.asset, authorization)
    }
    tills.push(...tillsOf(parts, x402Rail, x402, { chain, identityOf }))
  }
  const mppRail = rails.get('mpp')
  if (mpp && mppRail) {
    const chain = chainOf(mpp.chain)
    const identityOf = async ({ transaction, logIndex }: Transfer): Promise<string | null> => {
      const receipt = await readReceipt(chain.rpc, transaction)
      const memo = receipt && memoBehind(receipt, mpp.currency.address, logIndex)
      const tag = memo && tagIn(memo)
      return tag && transferIdentity(mpp.network, tag, transaction)
    }
    tills.push(...tillsOf(parts, mppRail, mpp, { chain, identityOf }))
  }
  return tills
}

type RailConfig = Pick<NonNullable<Config['x402']>, 'confirmations' | 'sinceBlock'>

function tillsOf(
  parts: TillParts,
  rail: Rail,
  { confirmations, sinceBlock }: RailConfig,
  { chain, identityOf }: { readonly chain: ChainAccess; readonly identityOf: Till['identityOf'] },
): readonly Till[] {
  const { past, signers, database } = parts
  const { rpc, head } = chain
  const { name, network, asset } = rail
  const earlier = past.filter(
    (terms) => terms.rail === name && terms.network === network && sameAddress(terms.asset, asset),
  )
  const places = new Map([rail, ...earlier].map(({ payTo }) => [payTo.toLowerCase(), payTo]))
  const own = [...signers.map(({ sender }) => sender.address), ...places.values()]
  const depth = { head, confirmations: confirmationsFor(confirmations) }
  const idOf = (payTo: Address) => `${network}/${asset}/${payTo}`.toLowerCase()
  return [...places.values()].map((payTo) => ({
    id: idOf(payTo),
    rail,
    payTo,
    sinceBlock,
    identityOf,
    headBlock: async () => (await head.fresh()).number,
    transfers: (from, to) => transfersTo(rpc, { token: asset, to: payTo }, from, to),
    async transfersOf(transaction) {
      const receipt = await readReceipt(rpc, transaction)
      return receipt?.succeeded ? transfersIn(receipt, asset, [payTo]) : []
    },
    isDeep: ({ blockNumber, amount }) => isDeepEnough(depth, blockNumber, amount),
    timeOf: ({ blockNumber }) => blockTime(rpc, blockNumber),
    shows: async (transaction) => (await readReceipt(rpc, transaction))?.succeeded ?? false,
    landAgain: landerOf(database, signers),
    watchSends: watcherOf(parts, { till: idOf(payTo), network, asset, payTo }),
    isContract: async (address) => isContractCode(await readCode(rpc, address)),
    isOwn: (address) => own.some((one) => sameAddress(one, address)),
  }))
}

/** On every chain that keys of ours write to: deliveries may be on another one than the money. */
function watcherOf({ database, signers, log }: TillParts, scope: WatchScope): Till['watchSends'] {
  const watch = createSendWatch(database, scope)
  const chains = [...new Set(signers.map(({ rpc }) => rpc))]
  return async (lease) => {
    const missing = await Promise.all(
      chains.map((rpc) => {
        const senderOf = (address: Address) =>
          signers.find((signer) => signer.rpc === rpc && sameAddress(signer.sender.address, address))?.sender
        // A chain that is silent now is looked at next time; the books of the others are kept meanwhile.
        return watchSends({ rpc, watch, senderOf, lease, log }).catch((error: unknown) => {
          if (!isProblem(error)) throw error
          log.warn('deliveries and refunds could not be looked at', { chainId: rpc.chainId, error })
          return []
        })
      }),
    )
    // Only now: what was dropped together with its payment must not be helped to land.
    for (const { sender, role } of signers)
      await sender.tend(lease).catch((error: unknown) => log.warn('a key could not be looked after', { role, error }))
    return missing.flat()
  }
}

/** Sends what settles an order once more: the same bytes, which land once. What it delivered waits until that is there. */
function landerOf(database: Database, signers: readonly Signer[]): Till['landAgain'] {
  const senderOf = (chainId: number, address: Address) =>
    signers.find(({ rpc, sender }) => rpc.chainId === chainId && sameAddress(sender.address, address))?.sender
  return async (orderId, lease) => {
    let outcome: Awaited<ReturnType<Till['landAgain']>> = 'impossible'
    for (const { chainId, signer, step } of await sendsOf(database, orderId)) {
      if (!/^settle(\.\d+)?$/.test(step)) continue
      const state = await senderOf(chainId, signer)?.resume({ lease, orderId, step })
      if (!state) continue
      if (state.state === 'mined' && state.receipt.succeeded) outcome = 'landed'
      if (state.state === 'pending' && outcome === 'impossible') outcome = 'pending'
    }
    return outcome
  }
}
