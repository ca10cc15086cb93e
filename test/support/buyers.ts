import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { createClient, custom } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { PLACEHOLDER_ADDRESS } from '../../src/base/placeholder.ts'
import { giveGas, giveToken } from '../../src/sandbox/world.ts'
import type { TestShop } from './shop.ts'

/** A fresh wallet with gas, USDC and pathUSD. */
export async function fundedWallet(
  { chains, config }: Pick<TestShop, 'chains' | 'config'>,
  dollars = 1_000n,
  account = privateKeyToAccount(generatePrivateKey()),
): Promise<PrivateKeyAccount> {
  await giveGas(chains.native, account.address, 10n ** 18n)
  if (config.x402) await giveToken(chains.native, config.x402.asset, account.address, dollars * 10n ** 6n)
  if (config.mpp) await giveToken(chains.tempo, config.mpp.currency.address, account.address, dollars * 10n ** 6n)
  return account
}

export type Pay = (url: string, init?: RequestInit) => Promise<Response>

/** The unmodified x402 client. Its own limit of one dollar per payment is raised, as a buyer of lots must do. */
export function x402Payer(account: PrivateKeyAccount, fetchWith: typeof fetch = fetch): Pay {
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
  client.setSpendControls({ maxAmountPerPayment: '$1000' })
  return wrapFetchWithPayment(fetchWith, client) as Pay
}

/** The unmodified mppx client, paying by pull or by push. */
export function mppPayer(
  { chains }: Pick<TestShop, 'chains'>,
  account: PrivateKeyAccount,
  mode: 'pull' | 'push',
  fetchWith: typeof fetch = fetch,
): Pay {
  const mppx = mppxClient(chains, account, mode, fetchWith)
  return async (url, init) => (await mppx).fetch(url, init)
}

/** It takes a second to load, so only tests that pay with it do. */
export async function mppxClient(
  chains: TestShop['chains'],
  account: PrivateKeyAccount,
  mode: 'pull' | 'push',
  fetchWith: typeof fetch = fetch,
) {
  const { Mppx, tempo } = await import('mppx/client')
  const { tempoModerato } = await import('viem/tempo/chains')
  const client = createClient({ chain: tempoModerato, transport: custom(chains.tempo) })
  return Mppx.create({
    methods: [tempo({ account, mode, getClient: () => client })],
    polyfill: false,
    fetch: fetchWith,
  })
}

/** The body of a request to buy from lot 392, for this buyer. */
export function lotFor({ address }: { readonly address: string }, more: object = {}) {
  return { saleId: 392, beneficiary: address, ...more }
}

export function post(body: unknown, headers: Readonly<Record<string, string>> = {}): RequestInit {
  return {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  }
}

/** An example that its reader has filled in. */
export function filledIn<Example>(example: Example, address = '0x00000000000000000000000000000000c0FFEE00'): Example {
  return JSON.parse(JSON.stringify(example).replaceAll(PLACEHOLDER_ADDRESS, address.toLowerCase())) as Example
}
