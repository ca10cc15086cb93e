import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Exchange } from '../base/outgoing.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { ChainAccess } from '../chain/access.ts'
import { secondOpinion } from '../chain/agreed.ts'
import {
  type ChainConfig,
  type Config,
  confirmationsFor,
  type MppConfig,
  type RetiredRail,
  type X402Config,
} from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { Rail } from '../domain/rail.ts'
import { mppRail } from '../rails/mpp/rail.ts'
import { createChargeSettler } from '../rails/mpp/settlement.ts'
import type { TransactionVerifier } from '../rails/mpp/verifier.ts'
import { inprocFacilitator } from '../rails/x402/inproc.ts'
import { x402Rail } from '../rails/x402/rail.ts'
import { remoteFacilitator } from '../rails/x402/remote.ts'
import { createSettlementReader } from '../rails/x402/settlement.ts'
import type { ShopTerms } from '../store/shop-terms.ts'

export type RailParts = {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Log
  readonly waypoint: Waypoint
  readonly random: Random
  readonly exchange: Exchange
  readonly serviceName: string
  readonly startsCold: boolean
  /** What this shop asked for before, by earlier configurations too. */
  readonly past: readonly ShopTerms[]
  /** From this amount on a payment needs two nodes that show it; null: never. */
  readonly secondOpinionFrom: bigint | null
}

/** A rail, and what else is to be known about where it is paid. */
export type OpenRail = {
  readonly rail: Rail
  /** False: it finishes, tells and sends back what it sold, and sells nothing more. */
  readonly isSelling: boolean
  readonly chain: ChainAccess
  readonly confirmations: (amount: bigint) => number
  readonly sinceBlock: bigint | null
}

/** All rails that orders may be on: those that sell, and those that did. */
export function createRails(
  { x402, mpp, retired }: Config,
  chainOf: (chain: ChainConfig) => ChainAccess,
  parts: RailParts,
): readonly OpenRail[] {
  const open = (one: RetiredRail, isSelling: boolean): OpenRail => {
    const chain = chainOf(one.config.chain)
    const rail = one.rail === 'x402' ? createX402(one.config, chain, parts) : createMpp(one.config, chain, parts)
    const { confirmations, sinceBlock } = one.config
    return { rail, isSelling, chain, confirmations: confirmationsFor(confirmations), sinceBlock }
  }
  return [
    ...(x402 ? [open({ rail: 'x402', config: x402 }, true)] : []),
    ...(mpp ? [open({ rail: 'mpp', config: mpp }, true)] : []),
    ...retired.map((one) => open(one, false)),
  ]
}

export function sellingRails(rails: readonly OpenRail[]): readonly Rail[] {
  return rails.flatMap(({ rail, isSelling }) => (isSelling ? [rail] : []))
}

function createX402(config: X402Config, chain: ChainAccess, parts: RailParts): Rail {
  const { limits, clock, log, serviceName, secondOpinionFrom, exchange } = parts
  const { rpc, head } = chain
  const { asset, network, assetName, assetVersion, payTo } = config
  const reader = createSettlementReader({
    rpc,
    head,
    clock,
    asset,
    confirmations: confirmationsFor(config.confirmations),
    secondOpinion: secondOpinion(rpc, secondOpinionFrom),
  })
  const facilitator =
    config.facilitator.kind === 'inproc'
      ? inprocFacilitator({
          rpc,
          head,
          asset,
          reader,
          settler: chain.sender(config.facilitator.settlerKey),
          now: clock.now,
        })
      : remoteFacilitator({
          url: config.facilitator.url,
          headers: config.facilitator.headers,
          timeoutMs: limits.facilitatorTimeoutMs,
          rpc,
          reader,
          log,
          exchange,
        })
  const money = {
    network,
    chainId: config.chain.chainId,
    asset,
    assetName,
    assetVersion,
    payTo,
    maxTimeoutSeconds: limits.challengeTtlMs / 1000,
  }
  return x402Rail({
    money,
    currency: config.currency,
    serviceName,
    rpc,
    head,
    facilitator,
    reader,
    treasury: chain.sender(config.treasuryKey),
    clock,
  })
}

function createMpp(config: MppConfig, chain: ChainAccess, parts: RailParts): Rail {
  const { limits, clock, log, waypoint, random, startsCold, past, secondOpinionFrom } = parts
  const { rpc, head } = chain
  const { network, currency, recipient, realm, secrets, modes } = config
  const depth = {
    head,
    clock,
    confirmations: confirmationsFor(config.confirmations),
    secondOpinion: secondOpinion(rpc, secondOpinionFrom),
  }
  const settler = createChargeSettler({
    ...depth,
    rpc,
    log,
    waitMs: limits.receiptWaitMs,
    waypoint,
  })
  let loading: Promise<TransactionVerifier> | null = null
  const verifier = (): Promise<TransactionVerifier> => {
    loading ??= import('../rails/mpp/verifier.ts').then(({ createTransactionVerifier }) =>
      createTransactionVerifier({ rpc, recipient, currency: currency.address }),
    )
    return loading
  }
  // Beside the start: mppx takes more than a second, and the first payment usually comes later than that.
  if (!startsCold) verifier().catch((error) => log.error('mppx could not be loaded', { error }))
  return mppRail({
    network,
    chainId: config.chain.chainId,
    currency,
    recipient,
    realm,
    past: past.filter((terms) => terms.rail === 'mpp' && terms.network === network),
    secrets,
    challengeTtlMs: limits.challengeTtlMs,
    modes,
    rpc,
    ...depth,
    settler,
    verifier,
    random,
    treasury: chain.sender(config.treasuryKey),
  })
}
