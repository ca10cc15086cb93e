import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { ChainMeter } from '../chain/chain-meter.ts'
import { createHeadSource, deepTime } from '../chain/head.ts'
import { createRpc } from '../chain/rpc.ts'
import { httpTransport, type RpcTransport } from '../chain/transport.ts'
import type { ChainConfig } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { Journal } from '../domain/journal.ts'
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
}

export function createChains(parts: ChainParts): Chains {
  const known = new Map<number, ChainAccess>()
  return {
    chainOf(config) {
      const access = known.get(config.chainId) ?? createAccess(parts, config)
      known.set(config.chainId, access)
      return access
    },
  }
}

function createAccess(
  { limits, journal, clock, log, waypoint, meter, transports }: ChainParts,
  { chainId, rpcUrls, tipWei, burial, paysGasInCoin }: ChainConfig,
): ChainAccess {
  const inProcess = transports.get(chainId)
  const rpc = createRpc({
    chainId,
    transports: inProcess ? [inProcess].flat() : rpcUrls.map((url) => httpTransport(url, limits.rpcTimeoutMs)),
    clock,
    meter,
  })
  const head = createHeadSource({ rpc, clock })
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
