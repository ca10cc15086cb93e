import type { Entry } from './command.ts'
import { deskCommands } from './desk-commands.ts'

export const commands: readonly Entry[] = [
  {
    name: 'start',
    summary: 'Run the shop: the sandbox without any configuration, production with it',
    load: () => import('./start.ts').then(({ start }) => start),
  },
  {
    name: 'demo',
    summary: 'Watch an agent discover the shop and buy from every surface on both rails',
    load: () => import('./demo.ts').then(({ demo }) => demo),
  },
  {
    name: 'init',
    summary: 'Begin a shop for real money here: keys, secrets and a complete .env',
    load: () => import('./init.ts').then(({ init }) => init),
  },
  {
    name: 'doctor',
    summary: 'Check configuration, store, chains, keys and the running shop; prints a grade',
    load: () => import('./doctor.ts').then(({ doctor }) => doctor),
  },
  {
    name: 'keys list',
    summary: 'Every key: what it is for, its address, what it has, and its roles on the chain',
    load: () => import('./keys/list.ts').then(({ listKeys }) => listKeys),
  },
  {
    name: 'keys make',
    summary: 'Make the key of a role that has none',
    load: () => import('./keys/make.ts').then(({ makeKeyCommand }) => makeKeyCommand),
  },
  {
    name: 'keys rotate',
    summary: 'Put a new key in the place of an old one, when that has finished its work',
    load: () => import('./keys/rotate.ts').then(({ rotateKey }) => rotateKey),
  },
  {
    name: 'contracts deploy',
    summary: 'Make the contracts of the shop, or go on with it, and check them on the chain',
    load: () => import('./contracts/deploy.ts').then(({ deployContracts }) => deployContracts),
  },
  {
    name: 'contracts status',
    summary: 'Code, roles and pause of the contracts, as the chain has them',
    load: () => import('./contracts/status.ts').then(({ contractsStatus }) => contractsStatus),
  },
  {
    name: 'contracts grant',
    summary: 'Give an address a role on the contracts',
    load: () => import('./contracts/access.ts').then(({ grantRole }) => grantRole),
  },
  {
    name: 'contracts revoke',
    summary: 'Take a role away',
    load: () => import('./contracts/access.ts').then(({ revokeRole }) => revokeRole),
  },
  {
    name: 'contracts pause',
    summary: 'Stop mints and craft actions at once',
    load: () => import('./contracts/access.ts').then(({ pauseContracts }) => pauseContracts),
  },
  {
    name: 'contracts unpause',
    summary: 'Let them go on',
    load: () => import('./contracts/access.ts').then(({ unpauseContracts }) => unpauseContracts),
  },
  {
    name: 'offers',
    summary: 'What is on sale, for everybody or for one player',
    load: () => import('./offers.ts').then(({ offers }) => offers),
  },
  {
    name: 'pay',
    summary: 'Call a paid route of any shop, and pay what it asks for',
    load: () => import('./pay.ts').then(({ pay }) => pay),
  },
  {
    name: 'orders list',
    summary: 'Purchases, newest first',
    load: () => import('./orders.ts').then(({ ordersCommand }) => ordersCommand),
  },
  {
    name: 'orders show',
    summary: 'One purchase and its whole timeline',
    load: () => import('./orders-show.ts').then(({ showOrder }) => showOrder),
  },
  {
    name: 'orders retry',
    summary: 'Go on with an open purchase now',
    load: () => import('./orders-show.ts').then(({ retryOrder }) => retryOrder),
  },
  {
    name: 'orders decide',
    summary: 'Say what became of a delivery that the game cannot judge',
    load: () => import('./orders-decide.ts').then(({ decideOrder }) => decideOrder),
  },
  {
    name: 'refund',
    summary: 'Send the money of a delivered purchase back to its payer',
    load: () => import('./refund.ts').then(({ refund }) => refund),
  },
  {
    name: 'reconcile',
    summary: 'Compare the books with the chain, and name every difference',
    load: () => import('./reconcile.ts').then(({ reconcileCommand }) => reconcileCommand),
  },
  {
    name: 'transfers list',
    summary: 'Money that came without a purchase',
    load: () => import('./transfers.ts').then(({ transfersCommand }) => transfersCommand),
  },
  {
    name: 'transfers show',
    summary: 'One of them, by anything that names it',
    load: () => import('./transfers.ts').then(({ showTransfers }) => showTransfers),
  },
  {
    name: 'transfers refund',
    summary: 'Send money without a purchase back to its sender, one or many',
    load: () => import('./transfers.ts').then(({ refundTransfers }) => refundTransfers),
  },
  {
    name: 'transfers keep',
    summary: 'Decide that money without a purchase stays, one or many',
    load: () => import('./transfers.ts').then(({ keepTransfers }) => keepTransfers),
  },
  {
    name: 'webhooks list',
    summary: 'Who is told of events',
    load: () => import('./webhooks.ts').then(({ listWebhooks }) => listWebhooks),
  },
  {
    name: 'webhooks add',
    summary: 'Tell an address of events',
    load: () => import('./webhooks.ts').then(({ addWebhook }) => addWebhook),
  },
  {
    name: 'webhooks rotate',
    summary: 'A new secret for an address',
    load: () => import('./webhooks.ts').then(({ rotateWebhook }) => rotateWebhook),
  },
  {
    name: 'webhooks replay',
    summary: 'Send events again',
    load: () => import('./webhooks.ts').then(({ replayWebhook }) => replayWebhook),
  },
  {
    name: 'webhooks enable',
    summary: 'Tell an address of events again',
    load: () => import('./webhooks.ts').then(({ enableWebhook }) => enableWebhook),
  },
  {
    name: 'webhooks disable',
    summary: 'Tell an address nothing for now',
    load: () => import('./webhooks.ts').then(({ disableWebhook }) => disableWebhook),
  },
  {
    name: 'webhooks remove',
    summary: 'Forget an address',
    load: () => import('./webhooks.ts').then(({ removeWebhook }) => removeWebhook),
  },
  {
    name: 'players list',
    summary: 'Players of the embedded game',
    load: () => import('./players.ts').then(({ listPlayers }) => listPlayers),
  },
  {
    name: 'players add',
    summary: 'Create a player, or link a wallet to one',
    load: () => import('./players.ts').then(({ addPlayer }) => addPlayer),
  },
  {
    name: 'lots list',
    summary: 'Lots of the sale contract: price, supply, window, state',
    load: () => import('./lots.ts').then(({ listLots }) => listLots),
  },
  {
    name: 'lots hide',
    summary: 'Stop selling a lot; nothing changes on the chain',
    load: () => import('./lots.ts').then(({ hideLot }) => hideLot),
  },
  {
    name: 'lots show',
    summary: 'Sell a hidden lot again',
    load: () => import('./lots.ts').then(({ showLot }) => showLot),
  },
  {
    name: 'lots describe',
    summary: 'Name, description and picture that listings show',
    load: () => import('./lots.ts').then(({ describeLot }) => describeLot),
  },
  {
    name: 'lots add',
    summary: 'Make a lot on the chain: signed here, or written for a Safe',
    load: () => import('./lot-terms.ts').then(({ addLot }) => addLot),
  },
  {
    name: 'lots change',
    summary: 'Change price, supply or window of a lot on the chain',
    load: () => import('./lot-terms.ts').then(({ changeLot }) => changeLot),
  },
  {
    name: 'lots import',
    summary: 'Describe, hide and show lots by a CSV file',
    load: () => import('./lots.ts').then(({ importLots }) => importLots),
  },
  {
    name: 'lots export',
    summary: 'The lots as a CSV file',
    load: () => import('./lots.ts').then(({ exportLots }) => exportLots),
  },
  {
    name: 'items list',
    summary: 'Items of the embedded game: price, stock, limits, window',
    load: () => import('./items.ts').then(({ listItems }) => listItems),
  },
  {
    name: 'items add',
    summary: 'Put a new item on the shelf',
    load: () => import('./items.ts').then(({ addItem }) => addItem),
  },
  {
    name: 'items change',
    summary: 'Change what an item costs, says, or how many there are',
    load: () => import('./items.ts').then(({ changeItem }) => changeItem),
  },
  {
    name: 'items hide',
    summary: 'Take an item off the shelf; `items show` puts it back',
    load: () => import('./items.ts').then(({ hideItem }) => hideItem),
  },
  {
    name: 'items show',
    summary: 'Put a hidden item back on the shelf',
    load: () => import('./items.ts').then(({ showItem }) => showItem),
  },
  {
    name: 'items discount',
    summary: 'What one player pays less for an item',
    load: () => import('./discounts.ts').then(({ discountItem }) => discountItem),
  },
  {
    name: 'items import',
    summary: 'Add and change items by a CSV file, all of its lines or none',
    load: () => import('./items.ts').then(({ importItems }) => importItems),
  },
  {
    name: 'items export',
    summary: 'The shelf as a CSV file',
    load: () => import('./items.ts').then(({ exportItems }) => exportItems),
  },
  {
    name: 'discounts import',
    summary: 'Give and take back discounts by a CSV file, all of its lines or none',
    load: () => import('./discounts.ts').then(({ importDiscounts }) => importDiscounts),
  },
  {
    name: 'discounts export',
    summary: 'Who pays less for what, as a CSV file',
    load: () => import('./discounts.ts').then(({ exportDiscounts }) => exportDiscounts),
  },
  {
    name: 'prices list',
    summary: 'What probes, look-ups and craft actions cost',
    load: () => import('./prices.ts').then(({ listPrices }) => listPrices),
  },
  {
    name: 'prices change',
    summary: 'Set one of those prices, or take it back to the usual one',
    load: () => import('./prices.ts').then(({ changePrice }) => changePrice),
  },
  {
    name: 'prices import',
    summary: 'Set those prices by a CSV file',
    load: () => import('./prices.ts').then(({ importPrices }) => importPrices),
  },
  {
    name: 'prices export',
    summary: 'Those prices as a CSV file',
    load: () => import('./prices.ts').then(({ exportPrices }) => exportPrices),
  },
  ...deskCommands,
  {
    name: 'migrate',
    summary: 'Bring the store up to date, or copy it to PostgreSQL',
    load: () => import('./migrate.ts').then(({ migrateStore }) => migrateStore),
  },
  {
    name: 'restored',
    summary: 'Say that the store was restored, so that the shop sells from it',
    load: () => import('./restored.ts').then(({ restored }) => restored),
  },
  {
    name: 'verify-receipt',
    summary: 'Check a signed delivery receipt, without a network if need be',
    load: () => import('./verify-receipt.ts').then(({ verifyReceiptCommand }) => verifyReceiptCommand),
  },
]

type Found = { readonly entry: Entry; readonly rest: readonly string[] }

/** `orders` alone is `orders list`. Null when there is no such command. */
export function findCommand([first, second, ...rest]: readonly string[]): Found | null {
  const named = (name: string) => commands.find((entry) => entry.name === name)
  const two = named(`${first} ${second}`)
  if (two) return { entry: two, rest }
  const after = second === undefined ? [] : [second, ...rest]
  const one = named(first ?? '')
  if (one) return { entry: one, rest: after }
  const list = named(`${first} list`)
  return list && (second === undefined || second.startsWith('-')) ? { entry: list, rest: after } : null
}

/** Commands that begin with this word: what a group consists of. */
export function groupOf(word: string): readonly Entry[] {
  return commands.filter(({ name }) => name.startsWith(`${word} `))
}
