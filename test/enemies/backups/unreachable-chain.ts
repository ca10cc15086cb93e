import type { Clock } from '../../../src/base/clock.ts'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import type { Config } from '../../../src/config/config.ts'
import type { Database } from '../../../src/store/db.ts'
import { impatiently } from '../../operations/desk.ts'
import type { RailUnderTest } from '../../support/credentials.ts'
import { plainTransports, type TestShop } from '../../support/shop.ts'

type Restored = { readonly shop: TestShop; readonly backup: Database }

type Hearing = {
  readonly chain: 'native' | 'tempo'
  readonly isDeaf: boolean
  readonly configure?: (config: Config) => Config
  readonly clock?: Clock
}

/** A shop on the backup that cannot ask the chain which a rail is not on, until it may. */
export function startDeaf(restored: Restored, rail: RailUnderTest) {
  return startHearing(restored, { chain: rail.rail === 'mpp' ? 'native' : 'tempo', isDeaf: true })
}

/** A shop on the backup that can ask one of the chains only as long as it may. */
export async function startHearing(
  { shop, backup }: Restored,
  { chain, isDeaf, configure = (config) => config, clock }: Hearing,
) {
  let hears = !isDeaf
  const hearing =
    (transport: RpcTransport): RpcTransport =>
    async (...request) => {
      if (!hears) throw new Error('nobody answers')
      return transport(...request)
    }
  const transports = new Map(
    [...plainTransports(shop.chains)].map(([chainId, plain]) => [
      chainId,
      chainId === shop.chains[chain].chainId ? hearing(plain as RpcTransport) : plain,
    ]),
  )
  const service = await shop.replica({
    database: backup,
    transports,
    configure: (config) => impatiently(configure(config)),
    ...(clock && { clock }),
  })
  return {
    service,
    hear() {
      hears = true
    },
    deafen() {
      hears = false
    },
  }
}
