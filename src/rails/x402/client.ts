import { decodePaymentRequiredHeader, decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http'
import { sameAddress } from '../../base/address.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { x402Networks } from '../../config/networks.ts'
import type { RailClient } from '../client.ts'
import { traits } from './traits.ts'
import { HEADER } from './wire.ts'

export const x402Client: RailClient = {
  name: traits.name,
  label: traits.label,
  receiptHeader: HEADER.response,
  documents: ['/.well-known/x402', '/discovery/resources'],

  async pay({ account, max }, fetchWith) {
    const { ExactEvmScheme } = await import('@x402/evm/exact/client')
    const { wrapFetchWithPayment, x402Client } = await import('@x402/fetch')
    const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
    client.setSpendControls({ maxAmountPerPayment: `$${formatUsd(max)}` })
    return wrapFetchWithPayment(fetchWith, client) as typeof fetch
  },

  referenceIn(headers) {
    const signature = headers.get(HEADER.signature)
    if (signature === null) return null
    const { payload } = decodePaymentSignatureHeader(signature)
    return (payload['authorization'] as { readonly nonce: string }).nonce
  },

  priceIn({ headers }) {
    const header = headers.get(HEADER.required)
    const [accepted] = header === null ? [] : decodePaymentRequiredHeader(header).accepts
    if (!accepted) return null
    const { amount, asset, network, payTo } = accepted
    const known = Object.values(x402Networks).find(({ chainId }) => `eip155:${chainId}` === network)
    const currency = known && sameAddress(known.asset, asset) ? known.currency : null
    return { rail: traits.name, amount: usd(BigInt(amount)), asset, currency, network, payTo }
  },

  settlementIn({ headers }) {
    const header = headers.get(HEADER.response)
    return header === null ? null : decodePaymentResponseHeader(header).transaction
  },

  async judge({ headers }) {
    const { PaymentRequiredV2Schema } = await import('@x402/core/schemas')
    const required = PaymentRequiredV2Schema.parse(decodePaymentRequiredHeader(headers.get(HEADER.required)!))
    const [accepted] = required.accepts
    return { words: `x402 ${accepted?.scheme} on ${accepted?.network}`, url: required.resource.url }
  },
}
