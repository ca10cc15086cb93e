import { ExactEvmScheme } from '@x402/evm/exact/client'
import { x402Client } from '@x402/fetch'
import type { PrivateKeyAccount } from 'viem/accounts'
import { mppxClient } from './buyers.ts'
import { erc20Balance, type TestShop } from './shop.ts'

/** All that a payer needs of the world. */
type Market = Pick<TestShop, 'chains' | 'config'>

/**
 * One rail as a payer sees it, taken apart: the stock client makes the credential, the test sends it, as often and as changed as it
 * likes. What both rails must do is written once against this.
 */
export type RailUnderTest = {
  readonly rail: 'x402' | 'mpp'
  readonly name: string
  /** The header that carries a credential. */
  readonly header: 'payment-signature' | 'authorization'
  readonly receiptHeader: 'payment-response' | 'payment-receipt'
  readonly challengeHeader: 'payment-required' | 'www-authenticate'
  /** Pays a 402, and returns the header's value. */
  pay(market: Market, payer: PrivateKeyAccount, unpaid: Response): Promise<string>
  /** What the payer holds of this rail's money, on the chain. */
  balance(market: Market, owner: `0x${string}`): Promise<bigint>
  till(market: Market): Promise<bigint>
}

export const x402UnderTest: RailUnderTest = {
  rail: 'x402',
  name: 'x402',
  header: 'payment-signature',
  receiptHeader: 'payment-response',
  challengeHeader: 'payment-required',
  async pay(_market, payer, unpaid) {
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(payer))
    client.setSpendControls(false)
    const required = JSON.parse(Buffer.from(unpaid.headers.get('payment-required')!, 'base64').toString())
    return Buffer.from(JSON.stringify(await client.createPaymentPayload(required))).toString('base64')
  },
  balance: ({ chains, config }, owner) => erc20Balance(chains.native, config.x402!.asset, owner),
  till: ({ chains, config }) => erc20Balance(chains.native, config.x402!.asset, config.x402!.payTo),
}

export const mppPullUnderTest = mppUnderTest('pull')
export const mppPushUnderTest = mppUnderTest('push')

function mppUnderTest(mode: 'pull' | 'push'): RailUnderTest {
  return {
    rail: 'mpp',
    name: `mpp ${mode}`,
    header: 'authorization',
    receiptHeader: 'payment-receipt',
    challengeHeader: 'www-authenticate',
    async pay({ chains }, payer, unpaid) {
      const mppx = await mppxClient(chains, payer, mode)
      return mppx.createCredential(unpaid)
    },
    balance: ({ chains, config }, owner) => erc20Balance(chains.tempo, config.mpp!.currency.address, owner),
    till: ({ chains, config }) => erc20Balance(chains.tempo, config.mpp!.currency.address, config.mpp!.recipient),
  }
}

/** Decodes, changes and encodes a credential again. */
export function edited(credential: string, edit: (value: Record<string, never>) => unknown): string {
  const prefix = /^Payment\s+/.exec(credential)?.[0] ?? ''
  const encoding = prefix ? 'base64url' : 'base64'
  const value = JSON.parse(Buffer.from(credential.slice(prefix.length), encoding).toString('utf8'))
  return prefix + Buffer.from(JSON.stringify(edit(value) ?? value)).toString(encoding)
}

/** An x402 payment as a client sends it that drops what it does not know. */
export function withoutClaim(credential: string): string {
  return edited(credential, (payment) => {
    const { accepted } = payment as unknown as { readonly accepted: { readonly extra: Record<string, unknown> } }
    delete accepted.extra['claim']
  })
}
