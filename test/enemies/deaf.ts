import type { RpcTransport } from '../../src/chain/transport.ts'
import type { Database } from '../../src/store/db.ts'
import { impatiently } from '../operations/desk.ts'
import type { RailUnderTest } from '../support/credentials.ts'
import { plainTransports, type TestShop } from '../support/shop.ts'

/** A shop on the backup that cannot ask the chain which a rail is not on, until it may. */
export async function startDeaf({ shop, backup }: { shop: TestShop; backup: Database }, rail: RailUnderTest) {
  const deafTo = shop.chains[rail.rail === 'mpp' ? 'native' : 'tempo'].chainId
  let isDeaf = true
  const hearing =
    (transport: RpcTransport): RpcTransport =>
    async (...request) => {
      if (isDeaf) throw new Error('nobody answers')
      return transport(...request)
    }
  const transports = new Map(
    [...plainTransports(shop.chains)].map(([chainId, plain]) => [
      chainId,
      chainId === deafTo ? hearing(plain as RpcTransport) : plain,
    ]),
  )
  const service = await shop.replica({ database: backup, transports, configure: impatiently })
  return {
    service,
    hear() {
      isDeaf = false
    },
  }
}
