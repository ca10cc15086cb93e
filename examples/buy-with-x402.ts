// An agent that buys an NFT with x402, by the protocol's own client. Run it against a shop, with the key of a wallet that has USDC:
//
//   PRIVATE_KEY=0x… npx node examples/buy-with-x402.ts http://localhost:4020
//
// The sandbox tells a funded key when it starts (GET /sandbox has it too).

import { ExactEvmScheme } from '@x402/evm/exact/client'
import { decodePaymentResponseHeader, wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'

const [shop = 'http://localhost:4020'] = process.argv.slice(2)
const account = privateKeyToAccount(process.env['PRIVATE_KEY'] as `0x${string}`)

// What is on sale? Anybody may ask; nobody needs an account.
type Item = { id: string; displayName: string; price: { amount: string; currency: string }; available: boolean }
const listing = (await (await fetch(`${shop}/agentic/x402/offers`)).json()) as { purchaseUrl: string; items: Item[] }
const lot = listing.items
  .filter(({ available }) => available)
  .sort((a, b) => Number(a.price.amount) - Number(b.price.amount))[0]!
console.log(`buying ${lot.displayName} for ${lot.price.amount} ${lot.price.currency}`)

// The client sends the request, reads the 402, signs a transfer of exactly that price, and sends the same body again with the signature.
// It pays at most one dollar unless it is told otherwise: client.setSpendControls({ maxAmountPerPayment: '$20' }).
const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
const pay = wrapFetchWithPayment(fetch, client)
const response = await pay(listing.purchaseUrl, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ saleId: Number(lot.id), quantity: 1, beneficiary: account.address }),
})

// 200: paid and delivered. 202: paid, and delivery takes longer than eight seconds; `statusUrl` tells when it is done.
// Anything else says in `payment.taken` whether money moved, and in `retry.action` what to do.
const purchase = (await response.json()) as { status?: string; nfts?: { contract: string; tokenId: string }[] }
const settlement = response.headers.get('payment-response')
console.log(response.status, purchase.status, purchase.nfts ?? purchase)
if (settlement) console.log('paid by transaction', decodePaymentResponseHeader(settlement).transaction)
process.exitCode = response.status === 200 ? 0 : 1
