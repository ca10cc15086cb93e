import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Waypoint } from '../base/waypoint.ts'
import { secondOpinion } from '../chain/agreed.ts'
import { type Config, confirmationsFor, type MppConfig, type X402Config } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { Rail, RailName } from '../domain/rail.ts'
import { mppRail } from '../rails/mpp/rail.ts'
import { createChargeSettler } from '../rails/mpp/settlement.ts'
import type { TransactionVerifier } from '../rails/mpp/verifier.ts'
import { inprocFacilitator } from '../rails/x402/inproc.ts'
import { x402Rail } from '../rails/x402/rail.ts'
import { remoteFacilitator } from '../rails/x402/remote.ts'
import { createSettlementReader } from '../rails/x402/settlement.ts'
import type { ShopTerms } from '../store/shop-terms.ts'
import type { ChainAccess } from './chains.ts'

export type RailParts = {
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Log
  readonly waypoint: Waypoint
  readonly serviceName: string
  readonly startsCold: boolean
  /** What this shop asked for before, by earlier configurations too. */
  readonly past: readonly ShopTerms[]
  /** From this amount on a payment needs two nodes that show it; null: never. */
  readonly secondOpinionFrom: bigint | null
}

/** The rails that are switched on, by name. */
export function createRails(
  config: Config,
  chainOf: (chain: X402Config['chain']) => ChainAccess,
  parts: RailParts,
): ReadonlyMap<RailName, Rail> {
  const rails = new Map<RailName, Rail>()
  if (config.x402) rails.set('x402', createX402(config.x402, chainOf(config.x402.chain), parts))
  if (config.mpp) rails.set('mpp', createMpp(config.mpp, chainOf(config.mpp.chain), parts))
  return rails
}

function createX402(config: X402Config, chain: ChainAccess, parts: RailParts): Rail {
  const { limits, clock, log, serviceName, secondOpinionFrom } = parts
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
  const { limits, clock, log, waypoint, startsCold, past, secondOpinionFrom } = parts
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
    treasury: chain.sender(config.treasuryKey),
  })
}
