import { secondOpinion } from '../../chain/second-opinion.ts'
import { confirmationsFor, type X402Config } from '../../config/config.ts'
import type { Rail } from '../../domain/rail.ts'
import type { ChainAccess } from '../../outbox/access.ts'
import type { RailAccount, RailParts } from '../kind.ts'
import { checkToken, outsideOf } from './checks.ts'
import type { Facilitator } from './facilitator.ts'
import { inprocFacilitator } from './inproc.ts'
import { x402Rail } from './rail.ts'
import { remoteFacilitator } from './remote.ts'
import { createSettlementReader, type SettlementReader } from './settlement.ts'
import { traits } from './traits.ts'

export function accountOf(config: X402Config, { isSelling }: Pick<RailAccount, 'isSelling'>): RailAccount {
  const { chain, network, asset, currency, payTo, facilitator, treasuryKey, confirmations, sinceBlock } = config
  return {
    rail: traits.name,
    isSelling,
    network,
    asset,
    currency,
    payTo,
    realm: null,
    chain,
    confirmations,
    sinceBlock,
    treasuryKey,
    treasurySends: facilitator.kind !== 'inproc',
    otherKeys: facilitator.kind === 'inproc' ? [{ role: 'settler', key: facilitator.settlerKey }] : [],
    outside: outsideOf(config),
    checks: [checkToken(config)],
    trials: ({ key, example, http }) => [
      ['x402', `PRIVATE_KEY=${key} ${example('buy-with-x402')} ${http.x402BaseUrl}`],
    ],
    open: (access, parts) => open(config, access, parts),
  }
}

function open(config: X402Config, access: ChainAccess, parts: RailParts): Rail {
  const { limits, clock, random, http, serviceName, secondOpinionFrom, challengeSecrets } = parts
  const { rpc, head } = access
  const { asset, network, assetName, assetVersion, payTo } = config
  const { chainId } = config.chain
  const opinion = secondOpinion(rpc, secondOpinionFrom)
  const { facilitator, treasuryKey } = config
  // Whoever settles has gas. Where a service settles for us, the treasury needs some.
  const sender = access.sender(facilitator.kind === 'inproc' ? facilitator.settlerKey : treasuryKey)
  const reader = createSettlementReader({
    rpc,
    head,
    clock,
    asset,
    isBuried: sender.isBuried,
    deepTime: sender.deepTime,
    confirmations: confirmationsFor(config.confirmations),
    secondOpinion: opinion,
  })
  const maxTimeoutSeconds = limits.challengeTtlMs / 1000
  return x402Rail({
    money: { network, chainId, asset, assetName, assetVersion, payTo, maxTimeoutSeconds },
    baseUrl: http.x402BaseUrl,
    currency: config.currency,
    serviceName,
    rpc,
    secondOpinion: opinion,
    head,
    facilitator: createFacilitator(config, access, reader, parts),
    reader,
    treasury: access.wallet(treasuryKey),
    sender,
    clock,
    random,
    secrets: challengeSecrets,
  })
}

function createFacilitator(
  { facilitator, asset }: X402Config,
  { rpc, head, sender }: ChainAccess,
  reader: SettlementReader,
  { limits, clock, log, exchange }: RailParts,
): Facilitator {
  if (facilitator.kind === 'inproc')
    return inprocFacilitator({ rpc, head, asset, reader, settler: sender(facilitator.settlerKey), now: clock.now })
  const { url, headers } = facilitator
  return remoteFacilitator({ url, headers, timeoutMs: limits.facilitatorTimeoutMs, rpc, reader, log, exchange })
}
