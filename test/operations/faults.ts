import { toHex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { systemClock } from '../../src/base/clock.ts'
import { invocation } from '../../src/chain/act.ts'
import type { Config } from '../../src/config/config.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { LOOK_MS } from '../../src/service/lookout.ts'
import { type Studio, startStudio } from '../shop/studio.ts'
import { type ShopOptions, startShop, type TestShop } from '../support/shop.ts'

/** A shop whose every support can be taken away and given back. */
export type FrailShop = {
  readonly shop: TestShop
  readonly studio: Studio
  /** What its second nodes do, on both chains. */
  readonly second: { isSilent: boolean; lies: boolean; slowMs: number }
  /** Whether all nodes of both chains are silent. */
  readonly chains: { areSilent: boolean }
  /** Moves the shop's clock. */
  later(ms: number): void
  pauseSale(isPaused: boolean): Promise<unknown>
  pauseToken(isPaused: boolean): Promise<unknown>
  setGas(role: 'minter' | 'settler', wei: bigint): Promise<unknown>
  stop(): Promise<void>
}

export async function startFrailShop(
  configure: (config: Config) => Config = (config) => config,
  options: Pick<ShopOptions, 'env' | 'poolSize' | 'waypoint'> = {},
): Promise<FrailShop> {
  const studio = await startStudio(privateKeyToAccount(generatePrivateKey()).address)
  const second = { isSilent: false, lies: false, slowMs: 0 }
  const silent = { areSilent: false }
  let offset = 0
  const shop = await startShop({
    ...options,
    lookMs: LOOK_MS,
    clock: { now: () => systemClock.now() + offset, sleep: systemClock.sleep },
    configure: (config) =>
      configure({
        ...config,
        game: { ...config.game, backend: { kind: 'http', url: studio.url, secret: studio.secret } },
        limits: { ...config.limits, waitMsMax: 400, gameTimeoutMs: 1_000 },
      }),
    wrapTransport: (_, transport) => [
      async (request) => {
        if (silent.areSilent) throw new Error('connection refused')
        return transport(request)
      },
      async (request) => {
        if (silent.areSilent || second.isSilent) throw new Error('connection refused')
        offset += second.slowMs
        if (second.lies && request.method === 'eth_getTransactionReceipt') return { result: null }
        return transport(request)
      },
    ],
  })
  const native = (method: string, ...params: unknown[]) => shop.chains.native.request({ method, params })
  const { sale } = shop.world.contracts
  return {
    shop,
    studio,
    second,
    chains: silent,
    later: (ms) => {
      offset += ms
    },
    pauseSale: (isPaused) =>
      shop.world.deployer.act(invocation(sale, saleLots.abi, isPaused ? 'pause' : 'unpause', [])),
    pauseToken: (isPaused) => {
      const { asset } = shop.config.x402!
      return native('dev_systemCall', asset, invocation(asset, testUsdc.abi, isPaused ? 'pause' : 'unpause', []).data)
    },
    setGas: (role, wei) => native('dev_setBalance', demoAddressOf(role), toHex(wei)),
    async stop() {
      await shop.stop()
      await studio.stop()
    },
  }
}
