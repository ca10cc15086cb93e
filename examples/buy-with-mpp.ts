// An agent that buys a game item with MPP, by the protocol's own client. Run it against a shop, with the key of a wallet that has the
// network's stablecoin:
//
//   PRIVATE_KEY=0x… RPC_URL=http://localhost:4020/sandbox/rpc/42431 npx node examples/buy-with-mpp.ts http://localhost:4020
//
// The sandbox tells a funded key and its RPC address when it starts (GET /sandbox has both). Without RPC_URL the network's public one is asked.

import { Receipt } from 'mppx'
import { Mppx, tempo } from 'mppx/client'
import { createClient, http } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { tempoModerato, tempo as tempoNetwork } from 'viem/tempo/chains'

const [shop = 'http://localhost:4020'] = process.argv.slice(2)
const account = privateKeyToAccount(process.env['PRIVATE_KEY'] as `0x${string}`)

// What is on sale? With `payer` the shop tells the prices of the player who is linked to this wallet.
type Item = { id: string; displayName: string; price: { amount: string; currency: string }; available: boolean }
const offers = await fetch(`${shop}/shop/mpp/offers?payer=${account.address}`)
const listing = (await offers.json()) as { purchaseUrl: string; items: Item[] }
const item = listing.items
  .filter(({ available }) => available)
  .sort((a, b) => Number(a.price.amount) - Number(b.price.amount))[0]!
console.log(`buying ${item.displayName} for ${item.price.amount} ${item.price.currency}`)

// The client sends the request, reads the challenge of the 402, signs a transfer, and sends the same body again with the credential. The
// shop broadcasts the transfer. The challenge names the chain.
const networks = [tempoNetwork, tempoModerato]
const method = tempo({
  account,
  getClient: ({ chainId }) =>
    createClient({
      chain: networks.find(({ id }) => id === chainId) ?? tempoModerato,
      transport: http(process.env['RPC_URL']),
    }),
})
const { fetch: pay } = Mppx.create({ methods: [method], polyfill: false })
const response = await pay(listing.purchaseUrl, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  // The player of whoever pays gets the item. `nickname` or `address` instead give it to somebody else.
  body: JSON.stringify({ itemId: item.id, quantity: 1, payer: account.address }),
})

// 200: paid and delivered. 202: paid, and delivery takes longer than eight seconds; `statusUrl` tells when it is done.
// Anything else says in `payment.taken` whether money moved, and in `retry.action` what to do.
const purchase = (await response.json()) as { status?: string; delivery?: { reference: string } }
console.log(response.status, purchase.status, purchase.delivery ?? purchase)
if (response.headers.has('payment-receipt'))
  console.log('paid by transaction', Receipt.fromResponse(response).reference)
process.exitCode = response.status === 200 ? 0 : 1
