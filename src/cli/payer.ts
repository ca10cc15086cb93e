import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { Mppx, tempo } from 'mppx/client'
import { createClient, http } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { tempoModerato, tempo as tempoNetwork } from 'viem/tempo/chains'
import { formatUsd, type Usd } from '../base/money.ts'
import type { RailName } from '../domain/rail.ts'

export type Purse = {
  readonly account: PrivateKeyAccount
  /** Where the chain of an MPP payment is asked; undefined: at the network's public address. */
  readonly rpcUrl: string | undefined
  /** No single payment may be higher. */
  readonly max: Usd
}

/** The stock client of a rail over the given `fetch`: it asks, pays what the 402 says, and asks again. Nothing in it is ours. */
export function payingFetch(rail: RailName, { account, rpcUrl, max }: Purse, fetchWith: typeof fetch): typeof fetch {
  if (rail === 'x402') {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
    client.setSpendControls({ maxAmountPerPayment: `$${formatUsd(max)}` })
    return wrapFetchWithPayment(fetchWith, client) as typeof fetch
  }
  const networks = [tempoNetwork, tempoModerato]
  const getClient = ({ chainId }: { readonly chainId?: number | undefined }) =>
    createClient({ chain: networks.find(({ id }) => id === chainId) ?? tempoNetwork, transport: http(rpcUrl) })
  const mppx = Mppx.create({ methods: [tempo({ account, getClient })], polyfill: false, fetch: fetchWith })
  return ((input, init) => mppx.fetch(input, init)) as typeof fetch
}
