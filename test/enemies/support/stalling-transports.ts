import type { RpcTransport } from '../../../src/chain/transport.ts'
import { plainTransports, type TestShop } from '../../support/shop.ts'

export type Asked = { readonly method: string; readonly params?: unknown }

/** Nodes of which one does not answer such a question before it is released. */
export function stallingTransports(
  { chains }: TestShop,
  chain: 'native' | 'tempo',
  isMeant: (asked: Asked) => boolean,
) {
  let release = () => {}
  let isStalled = false
  const go = new Promise<void>((resolve) => {
    release = resolve
  })
  const transports = new Map(
    [...plainTransports(chains)].map(([chainId, plain]) => {
      const transport: RpcTransport = async (request, max) => {
        if (chainId === chains[chain].chainId && [request].flat().some(isMeant)) {
          isStalled = true
          await go
        }
        return (plain as RpcTransport)(request, max)
      }
      return [chainId, transport] as const
    }),
  )
  return { transports, release, isStalled: () => isStalled }
}
