import type { Clock } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { ChainAccess } from '../chain/access.ts'
import type { ChainMeter } from '../chain/chain-meter.ts'
import { createFeeSource, type FeeSource } from '../chain/fees.ts'
import { createHeadSource } from '../chain/head.ts'
import { createRpc, httpTransport } from '../chain/rpc.ts'
import { createSender, type Sender } from '../chain/sender.ts'
import type { RpcTransport } from '../chain/transport.ts'
import { openWallet } from '../chain/wallet.ts'
import type { ChainConfig } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { Journal } from '../domain/journal.ts'

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

/** One access per chain id, shared by everything that uses that chain. */
export function createChains(parts: ChainParts): (config: ChainConfig) => ChainAccess {
  const known = new Map<number, ChainAccess>()
  return (config) => {
    const access = known.get(config.chainId) ?? createAccess(parts, config)
    known.set(config.chainId, access)
    return access
  }
}

function createAccess(
  { limits, journal, clock, log, waypoint, meter, transports }: ChainParts,
  { chainId, rpcUrls, tipWei, headAgeMaxMs, burial, paysGasInCoin }: ChainConfig,
): ChainAccess {
  const inProcess = transports.get(chainId)
  const rpc = createRpc({
    chainId,
    transports: inProcess ? [inProcess].flat() : rpcUrls.map((url) => httpTransport(url, limits.rpcTimeoutMs)),
    clock,
    meter,
  })
  const head = createHeadSource({ rpc, clock, ageMaxMs: headAgeMaxMs })
  const fees: FeeSource = createFeeSource({ head, tipWei })
  const senders = new Map<string, Sender>()
  return {
    rpc,
    head,
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
