import type { Command } from './command.ts'

/** A line of `sutler --help`. The command itself is loaded when it is asked for: the list must not wait for a database engine. */
export type Entry = { readonly name: string; readonly summary: string; load(): Promise<Command> }

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
    name: 'doctor',
    summary: 'Check configuration, store, chains, keys and the running shop; prints a grade',
    load: () => import('./doctor.ts').then(({ doctor }) => doctor),
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
    load: () => import('./orders.ts').then(({ listOrders }) => listOrders),
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
    summary: 'Hold the books against the chain, and name every difference',
    load: () => import('./reconcile.ts').then(({ reconcile }) => reconcile),
  },
  {
    name: 'arrivals list',
    summary: 'Money that came without a purchase',
    load: () => import('./arrivals.ts').then(({ listArrivals }) => listArrivals),
  },
  {
    name: 'arrivals show',
    summary: 'One of them, by anything that names it',
    load: () => import('./arrivals.ts').then(({ showArrival }) => showArrival),
  },
  {
    name: 'arrivals refund',
    summary: 'Send money without a purchase back to its sender, one or many',
    load: () => import('./arrivals.ts').then(({ refundArrivals }) => refundArrivals),
  },
  {
    name: 'arrivals keep',
    summary: 'Decide that money without a purchase stays, one or many',
    load: () => import('./arrivals.ts').then(({ keepArrivals }) => keepArrivals),
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
    name: 'migrate',
    summary: 'Bring the store up to date, or copy it to PostgreSQL',
    load: () => import('./migrate.ts').then(({ migrateStore }) => migrateStore),
  },
  {
    name: 'verify-receipt',
    summary: 'Check a signed delivery receipt, without a network if need be',
    load: () => import('./verify-receipt.ts').then(({ verifyReceiptCommand }) => verifyReceiptCommand),
  },
]

export type Found = { readonly entry: Entry; readonly rest: readonly string[] }

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
