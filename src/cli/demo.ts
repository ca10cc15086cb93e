import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../base/address.ts'
import { systemClock } from '../base/clock.ts'
import { loadConfig } from '../config/load.ts'
import { rails } from '../rails/rails.ts'
import { startSandbox } from '../service/sandbox.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type Command, CommandRefusal, shopOptions } from './command.ts'
import {
  type Agent,
  type Bought,
  createAgent,
  type DemoSandbox,
  discover,
  type Operation,
  post,
  read,
  type Say,
} from './demo-agent.ts'
import type { Output } from './output.ts'
import { shopUrl } from './shop-client.ts'
import type { Terminal } from './terminal.ts'

export const demo: Command = {
  args: '',
  about: `An agent with a fresh wallet gets nothing but the base URL of a shop. It finds out what is sold there, and buys from every surface\non every rail with the stock clients of ${rails.map(({ label }) => label).join(' and ')}, while you watch. Uses the sandbox at --url; when none runs there, one is started in a\ntemporary folder and removed again. Exit code 1 when anything is missing.`,
  options: shopOptions,
  examples: [['sutler demo', 'all of it, in well under a minute']],
  async run(call) {
    const { terminal } = call
    const begun = systemClock.now()
    const shop = await findShop(shopUrl(call), terminal)
    try {
      const bought = await shopAround(shop.url, terminal)
      return closing(bought, (systemClock.now() - begun) / 1000, terminal)
    } finally {
      await shop.stop()
    }
  },
}

type DemoShop = { readonly url: string; stop(): Promise<void> }

async function findShop(url: string, terminal: Terminal): Promise<DemoShop> {
  const answer = await boundedFetch(`${url}/health/live`).catch(() => null)
  if (answer?.ok) return { url, stop: async () => {} }
  terminal.note(terminal.style.dim(`nobody answers at ${url}; starting a sandbox for the occasion`))
  const folder = mkdtempSync(join(tmpdir(), 'sutler-demo-'))
  const port = await freePort()
  const loaded = loadConfig({ PORT: String(port), SUTLER_DATA_DIR: folder })
  if (loaded.mode !== 'sandbox') throw new TypeError('a demo is played in the sandbox')
  const { stop } = await startSandbox(loaded)
  return {
    url: loaded.common.http.baseUrl,
    async stop() {
      await stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

const NICKNAME_DIGITS = 8

async function shopAround(url: string, terminal: Terminal): Promise<readonly Bought[]> {
  const { style, note } = terminal
  const line: Say = (what, words) => note(`    ${style.dim(what.padEnd(11))}${words}`)
  const account = privateKeyToAccount(generatePrivateKey())
  note(`${style.bold('An agent')} with the new wallet ${style.cyan(account.address)} arrives at ${style.cyan(url)}`)

  const operations = await discover(url)
  line('discovery', `${url}/openapi.json: ${operations.length} paid operations`)
  const sandbox = await read<DemoSandbox & { readonly mode?: string }>(`${url}/sandbox`).catch(() => null)
  if (sandbox?.mode !== 'sandbox')
    throw new CommandRefusal(
      'no_sandbox',
      `${url} is not a sandbox, and the demo has only play money; see \`sutler pay --help\``,
    )
  const nickname = `Agent-${account.address.slice(2, 2 + NICKNAME_DIGITS)}`
  const { nfts } = await post<{ nfts: readonly Nft[] }>(`${url}/sandbox/faucet`, { address: account.address })
  await post(`${url}/sandbox/players`, { nickname, address: account.address })
  line('faucet', `play money and ${nfts.length} old NFTs; player ${nickname}`)

  const agent = createAgent({ url, account, sandbox, clock: systemClock })
  const catalog = await read<Catalog>(`${url}/catalog?nickname=${nickname}`)
  line('catalog', `${catalog.items.length} things on the shelves`)
  const bought: Bought[] = []
  const list = { address: account.address, nickname, nfts: [...nfts], catalog, bought }
  for (const operation of inOrder(operations)) {
    note(`\n${style.bold(operation.summary)}  ${style.dim(`${operation.method} ${operation.path}`)}`)
    const body = await prepare(agent, operation, list, line)
    bought.push(await agent.buy(operation, body, line))
  }
  refuseMissing(bought)
  return bought
}

type Nft = { readonly contract: Address; readonly tokenId: string }
type Catalog = {
  readonly items: readonly {
    readonly surface: string
    readonly id: string
    readonly available?: boolean
    readonly price: { readonly amount: string }
  }[]
}
type ShoppingList = {
  readonly address: Address
  readonly nickname: string
  readonly nfts: Nft[]
  readonly catalog: Catalog
  readonly bought: readonly Bought[]
}

/** Timers are sped up after something has been burnt, and a report needs a transaction to tell of. */
const WORDS = ['buy', 'player-lookup', 'cheap-health', 'report-tx', 'burn', 'accelerate']

function inOrder(operations: readonly Operation[]): readonly Operation[] {
  const rank = ({ path }: Operation) => WORDS.indexOf(wordOf(path))
  return operations.toSorted((a, b) => rank(a) - rank(b))
}

function wordOf(path: string): string {
  return path.split('/').at(-1)!
}

/** What the agent asks for, once everything that must be done before is done. Null: the route has no parameters. */
async function prepare(
  agent: Agent,
  { surface, path, url }: Operation,
  { address, nickname, nfts, catalog, bought }: ShoppingList,
  say: Say,
): Promise<object | null> {
  const quoteUrl = url.replace(/[^/]+$/, 'quote')
  switch (wordOf(path)) {
    case 'buy':
      return surface === 'sale'
        ? { saleId: Number(cheapest(catalog, 'sale')), quantity: 2, beneficiary: address }
        : { itemId: cheapest(catalog, 'shop'), nickname }
    case 'player-lookup':
      return {}
    case 'cheap-health':
      return null
    case 'report-tx':
      return { userId: nickname, txHash: bought[0]!.paymentTx }
    case 'burn': {
      const body = { user: address, nfts: nfts.splice(0, 1) }
      await agent.makeReady(quoteUrl, { type: 'burn', ...body }, say)
      return body
    }
    case 'accelerate':
      await agent.makeReady(quoteUrl, { type: 'accelerate', user: address }, say)
      return { user: address }
    default:
      throw new CommandRefusal('unknown_operation', `the contract has ${path}, which this agent cannot use`)
  }
}

function cheapest({ items }: Catalog, surface: string): string {
  const [first] = items
    .filter((item) => item.surface === surface && item.available !== false)
    .toSorted((a, b) => Number(a.price.amount) - Number(b.price.amount))
  if (!first) throw new CommandRefusal('empty_shelf', `nothing is on the shelf of ${surface}`)
  return first.id
}

/** Everything that is sold for money, on each rail. */
const EXPECTED = rails.flatMap(({ name, privileges: { servesPayer, hasProbes } }) =>
  [
    'sale buy',
    'shop buy',
    ...(servesPayer ? ['shop player-lookup'] : []),
    ...(hasProbes ? ['gateway cheap-health', 'gateway report-tx'] : []),
    'craft burn',
    'craft accelerate',
  ].map((way) => `${way} by ${name}`),
)

function refuseMissing(bought: readonly Bought[]): void {
  const done = new Set(bought.map(({ operation, rail }) => `${operation.surface} ${wordOf(operation.path)} by ${rail}`))
  const missing = EXPECTED.filter((way) => !done.has(way))
  if (missing.length > 0) throw new CommandRefusal('missing', `the shop does not offer ${missing.join(', ')}`)
}

function closing(bought: readonly Bought[], seconds: number, { style, table }: Terminal): Output {
  const rows = bought.map(({ operation, rail, paid, paymentTx, deliveryTx }) => [
    operation.surface,
    rail,
    wordOf(operation.path),
    paid,
    paymentTx,
    deliveryTx ?? '',
  ])
  return {
    json: {
      seconds,
      purchases: bought.map(({ operation: { surface, method, path }, ...rest }) => ({
        surface,
        method,
        path,
        ...rest,
      })),
    },
    text: [
      '',
      table([['SURFACE', 'RAIL', 'ROUTE', 'PAID', 'PAYMENT', 'DELIVERY'].map(style.dim), ...rows]),
      '',
      `${style.green(`${bought.length} purchases`)}, each paid, settled, delivered and receipted, in ${seconds.toFixed(1)} s`,
    ].join('\n'),
  }
}
