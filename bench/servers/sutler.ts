// The shop itself, on a chain in another process and on the store it is told.
import { silentLog } from '../../src/base/log.ts'
import { Secret } from '../../src/base/secret.ts'
import type { ChainConfig, Config } from '../../src/config/config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { sandboxConfig } from '../../src/sandbox/world.ts'
import { startService } from '../../src/service/service.ts'
import { serveMeasured } from '../measured.ts'

export type SutlerOrder = {
  readonly rpcUrls: Readonly<Record<number, string>>
  readonly databaseUrl?: string
  readonly dataDir?: string
  readonly port: number
  /** Two shops with journals of their own must not share a key. */
  readonly settlerKey: string
  /** Limits as they are for everybody. */
  readonly usualLimits?: boolean
}

await serveMeasured<SutlerOrder>(async ({ rpcUrls, databaseUrl, dataDir, port, settlerKey, usualLimits }) => {
  const env = {
    PORT: String(port),
    SUTLER_DATA_DIR: dataDir ?? '',
    ...(databaseUrl ? { DATABASE_URL: databaseUrl } : {}),
  }
  const unlimited = { SUTLER_RATE_UNPAID: '1000000', SUTLER_RATE_READ: '1000000', SUTLER_RATE_QUOTE: '1000000' }
  // The till is read all the time, so that whatever arrives there is felt.
  const watched = { SUTLER_RECONCILE_SECONDS: '1' }
  const loaded = loadConfig({ ...env, ...(usualLimits ? watched : unlimited) })
  if (loaded.mode !== 'sandbox') throw new TypeError('the bench runs the sandbox')
  const { url } = await startService(overHttp(sandboxConfig(loaded), rpcUrls, new Secret(settlerKey)), {
    log: silentLog,
  })
  return url
})

function overHttp(config: Config, rpcUrls: SutlerOrder['rpcUrls'], settlerKey: Secret): Config {
  const at = (chain: ChainConfig): ChainConfig => ({ ...chain, rpcUrls: [rpcUrls[chain.chainId]!] })
  const { x402, mpp, game } = config
  return {
    ...config,
    x402: x402 && { ...x402, chain: at(x402.chain), facilitator: { kind: 'inproc', settlerKey } },
    mpp: mpp && { ...mpp, chain: at(mpp.chain) },
    game: { ...game, chain: at(game.chain) },
  }
}
