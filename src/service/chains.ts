import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Waypoint } from '../base/waypoint.ts'
import { type OpenLine, openWebSocket } from '../base/web-socket.ts'
import { deepTime } from '../chain/burial.ts'
import type { ChainMeter } from '../chain/chain-meter.ts'
import { createHeadSource } from '../chain/head.ts'
import { createHeadListener, type HeadListener } from '../chain/head-listener.ts'
import { createRpc, httpTransport } from '../chain/rpc.ts'
import type { RpcTransport } from '../chain/transport.ts'
import type { ChainConfig } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { Journal } from '../domain/journal.ts'
import type { NewHeads } from '../domain/new-heads.ts'
import type { ChainAccess } from '../outbox/access.ts'
import { createFeeSource, type FeeSource } from '../outbox/fees.ts'
import { createSender, type Sender } from '../outbox/sender.ts'
import { openWallet } from '../outbox/wallet.ts'

type ChainParts = {
  readonly limits: Limits
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
  readonly waypoint: Waypoint
  readonly meter: ChainMeter
  /** Chains that live in this process, by id; perhaps with several ways to each. */
  readonly transports: ReadonlyMap<number, RpcTransport | readonly RpcTransport[]>
}

export type Chains = {
  /** One access per chain id, shared by everything that uses that chain. */
  readonly chainOf: (config: ChainConfig) => ChainAccess
  /** Listens for new blocks wherever somebody tells of them, until `stop`. Of two addresses for a chain the first is used. */
  listen(configs: readonly ChainConfig[], stop: AbortSignal): void
}

export function createChains(parts: ChainParts): Chains {
  const known = new Map<number, { readonly access: ChainAccess; readonly listener: HeadListener }>()
  const at = (config: ChainConfig) => {
    const { chainId } = config
    const chain = known.get(chainId) ?? createChain(parts, config)
    known.set(chainId, chain)
    return chain
  }
  return {
    chainOf: (config) => at(config).access,
    listen(configs, stop) {
      for (const config of configs) {
        const { listener } = at(config)
        if (config.listenUrl !== null && !listener.isUsed()) listener.listen(lineTo(config.listenUrl), stop)
      }
    },
  }
}

/** A block's head is about two kilobytes. */
const MESSAGE_BYTES_MAX = 64 * 1024

/** How a node that tells of new blocks is called. */
export function lineTo(url: string): OpenLine {
  return (events) => openWebSocket(url, MESSAGE_BYTES_MAX, events)
}

function createChain(parts: ChainParts, config: ChainConfig) {
  const listener = createHeadListener({ chainId: config.chainId, clock: parts.clock, log: parts.log })
  return { listener, access: createAccess(parts, config, listener) }
}

function createAccess(
  { limits, journal, clock, log, waypoint, meter, transports }: ChainParts,
  { chainId, rpcUrls, tipWei, headAgeMaxMs, burial, paysGasInCoin }: ChainConfig,
  heads: NewHeads,
): ChainAccess {
  const inProcess = transports.get(chainId)
  const rpc = createRpc({
    chainId,
    transports: inProcess ? [inProcess].flat() : rpcUrls.map((url) => httpTransport(url, limits.rpcTimeoutMs)),
    clock,
    meter,
    heads,
  })
  const head = createHeadSource({ rpc, clock, ageMaxMs: headAgeMaxMs })
  const fees: FeeSource = createFeeSource({ head, tipWei })
  const senders = new Map<string, Sender>()
  return {
    rpc,
    head,
    deepTime: () => deepTime(rpc, burial),
    wallet: (key) => openWallet(key, clock),
    sender(key) {
      const wallet = openWallet(key, clock)
      const sender =
        senders.get(wallet.address) ??
        createSender({
          rpc,
          wallet,
          journal,
          fees,
          clock,
          log,
          waypoint,
          meter,
          burial,
          paysGasInCoin,
          waitMs: limits.receiptWaitMs,
          stuckAfterMs: limits.stuckAfterMs,
        })
      senders.set(wallet.address, sender)
      return sender
    },
  }
}
