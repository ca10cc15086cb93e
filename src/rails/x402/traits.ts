import type { RailTraits } from '../../domain/rail.ts'
import { HEADER, META } from './wire.ts'

const EXTENSION = 'org.x402/payment'

export const traits: RailTraits = {
  name: 'x402',
  label: 'x402',
  reference: 'EIP-3009 nonce',
  headers: {
    credential: { name: HEADER.signature, scheme: null },
    alsoSent: ['x-payment'],
    mistaken: [{ name: 'X-PAYMENT', what: 'the header of x402 version 1' }],
    challenge: HEADER.required,
    receipt: HEADER.response,
  },
  mcp: {
    toolMeta: { 'agents-x402/paymentRequired': true },
    priceKey: 'agents-x402/priceUSD',
    capabilities: { legacy: {}, modern: { extensions: { [EXTENSION]: {} } } },
    extension: EXTENSION,
    contentKey: META.error,
    errorKey: null,
    receiptFor: (receipt) => receipt,
  },
  privileges: { hasProbes: true, servesPayer: false, listsLots: true },
}
