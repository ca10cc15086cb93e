import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import tls from 'node:tls'
import { parseEnv } from 'node:util'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { giveGas, giveToken } from '../../src/sandbox/world.ts'
import { mined, wallet } from '../devchain/support.ts'
import { post } from '../support/buyers.ts'
import { createEmptyDatabase, onServer, type TestDatabase } from '../support/postgres.ts'
import { freePort } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { type Caddy, findCaddy, startCaddy } from './caddy.ts'
import { judge, readGame } from './judge.ts'
import { type Game, type Networks, PATH_USD, startGame, startNetworks, USDC } from './networks.ts'
import { blocksOf, blockWith, lineWith } from './page.ts'
import { buy, type Kind, type Market, type Protocol, type Purchase, type Wish } from './purchases.ts'
import { openTerminal, type Terminal } from './terminal.ts'

// docs/operating.md, typed in as it stands: from an empty folder, an empty database and empty chains to a shop of two replicas behind Caddy,
// and what comes after that on the days that follow, while agents go on buying. The test is everybody who is not the shop: the networks, the
// owner with the cold key, the game's players, and agents with stock clients.

const caddy = findCaddy()
const skip = caddy === null && 'there is no Caddy on this machine'

const owner = privateKeyToAccount(generatePrivateKey())
const till = privateKeyToAccount(generatePrivateKey()).address

/** Whatever is still waited for then, nobody wants any more: a test that failed must come to its end. */
const over = new AbortController()

let networks: Networks
let database: TestDatabase
let game: Game
let terminal: Terminal
let proxy: Caddy
let ports: readonly number[]
let shopUrl: string

before(async () => {
  if (caddy === null) return
  ;[networks, database, ports] = await Promise.all([
    startNetworks(),
    createEmptyDatabase(),
    Promise.all([freePort(), freePort()]),
  ])
  game = await startGame(networks.chains)
  shopUrl = `https://localhost:${await freePort()}`
  terminal = openTerminal(mkdtempSync(join(tmpdir(), 'sutler-rehearsal-')), {
    USER: 'mara',
    SHOP_URL: shopUrl,
    NETWORKS: 'base-sepolia,tempo-moderato',
    NODES: networks.nodes,
    TILL: till,
    OWNER: owner.address,
    DATABASE_URL: database.url,
    CONTACT: 'shop@studio.test',
    CRAFT_TOKEN: 'Ember:EMBER',
    COLLECTIONS: game.collection,
    PASS_URI: 'https://studio.test/pass.json',
    PLAYER: 'Nell',
    WALLET: privateKeyToAccount(generatePrivateKey()).address,
    PORTS: ports.join(' '),
  })
})
after(async () => {
  if (caddy === null) return
  over.abort()
  terminal.close()
  await proxy?.stop()
  await networks.stop()
  await database.drop()
  rmSync(terminal.folder, { recursive: true, force: true })
})

test('from an empty folder to sales from every surface on both protocols, by the blocks of the page alone', {
  skip,
}, async (t) => {
  const began = performance.now()
  const [init, deploy, start, sell, bySafe] = blocksOf('Opening a shop')
  await fundAll(await terminal.run(init!))
  await terminal.run(deploy!)
  await terminal.run(start!)
  proxy = await startCaddy(caddy!, { host: shopUrl, ports, folder: terminal.folder })
  trust(proxy.certificate)
  await Promise.all(ports.map(isReady))
  await terminal.run(sell!)
  await buyAll([{ kind: 'lot', protocol: 'x402', what: '1' }])
  t.diagnostic(`from an empty folder to the first sale: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  await buyAll(wishes.x402.concat(wishes.mpp))
  await terminal.run(bySafe!)
})

const wishes: Readonly<Record<Protocol, Wish[]>> = {
  x402: wishesFor('x402', [
    ['lot', '1'],
    ['item', 'keys:5'],
    ['burn', ''],
    ['health', ''],
    ['report', ''],
  ]),
  mpp: wishesFor('mpp', [
    ['lot', '1'],
    ['item', 'keys:5'],
    ['burn', ''],
    ['lookup', ''],
  ]),
}

function wishesFor(protocol: Protocol, list: readonly (readonly [Kind, string])[]): Wish[] {
  return list.map(([kind, what]) => ({ kind, protocol, what }))
}

const purchases: Purchase[] = []

async function buyAll(all: readonly Wish[]): Promise<void> {
  const bought = await Promise.all(all.map((wish) => buy(market(), wish)))
  purchases.push(...bought)
  for (const { kind, protocol, status, body } of bought) assert.equal(status, 200, `${kind} by ${protocol}: ${body}`)
}

function market(): Market {
  const { SUTLER_CRAFT_CONTROLLER: controller } = parseEnv(readFileSync(join(terminal.folder, '.env'), 'utf8'))
  return { url: shopUrl, networks, game, controller: controller as Address, addPlayer, over: over.signal }
}

async function addPlayer(nickname: string, address: Address): Promise<void> {
  await until(async () => over.signal.aborted || (await operator('/operator/players', post({ nickname, address })))?.ok)
}

/** Null when nobody answers. */
function operator(path: string, init: RequestInit = {}): Promise<Response | null> {
  const token = readFileSync(join(terminal.folder, 'keys/operator.key'), 'utf8').trim()
  return fetch(shopUrl + path, { ...init, headers: { ...init.headers, authorization: `Bearer ${token}` } }).catch(
    () => null,
  )
}

/** The authority of a Caddy that has no public name, for us and for every command. */
function trust(certificate: string): void {
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), readFileSync(certificate, 'utf8')])
  terminal.set({ NODE_EXTRA_CA_CERTS: certificate })
}

function isReady(port: number): Promise<void> {
  return until(async () => (await fetch(`http://127.0.0.1:${port}/health/ready`).catch(() => null))?.ok)
}

/** Sends each address what the list says that it needs. */
async function fundAll(said: string): Promise<void> {
  const listed = [...said.matchAll(/^ +\S+ +(0x\w{40}) +(base-sepolia|tempo-moderato) +(.*)$/gm)]
  assert.ok(listed.length > 5, said)
  const { native, tempo } = networks.chains
  for (const [, address, network, needs] of listed) {
    const to = address as Address
    const [chain, token] = network === 'base-sepolia' ? ([native, USDC] as const) : ([tempo, PATH_USD] as const)
    if (needs!.includes('gas')) await giveGas(chain, to, 10n ** 18n)
    if (needs!.includes('float')) await giveToken(chain, token, to, 100_000_000n)
  }
}

test('a lot added, a price changed, a key rotated, replicas replaced, a backup restored: agents buy on, and nobody pays in vain', {
  skip,
}, async (t) => {
  const buyers = goOnBuying()
  await buyers.more(4)

  // A lot, signed by the cold key of the owner.
  await terminal.run(lineWith('npx sutler lots add 400'))
  await execute('lot-400.json')
  await until(() => isOnSale(400))
  buyers.want('lot', '400')

  // An item, and then another price for it; and one for what lies on no shelf.
  await terminal.run(lineWith('npx sutler items add torch:1'))
  buyers.want('item', 'torch:1')
  await buyers.more(8)
  await terminal.run(lineWith('npx sutler items change torch:1 --price'))
  await terminal.run(lineWith('npx sutler prices change playerLookup 0.05'))
  await until(async () => (await priceOf('torch:1')) === '1.25')
  const dear = purchases.filter(({ what }) => what === 'torch:1').length
  await buyers.more(8)

  // The minter's key: the owner gives the role to the new one before the replicas use it, and takes it from the old one when none does.
  const said = await terminal.run(blockWith('Keys and roles', 'keys rotate minter'))
  const [, fresh, old] = /grant minter (0x\w{40})[\s\S]*revoke minter (0x\w{40})/.exec(said)!
  await giveGas(networks.chains.native, fresh as Address, 10n ** 18n)
  await terminal.run(blockWith('Keys and roles', 'contracts grant'), { NEW_MINTER: fresh! })
  await execute('grant-minter.json')
  for (const port of ports) {
    await stopReplica(port)
    await startReplica(port)
    await buyers.more(2)
  }
  await terminal.run(blockWith('Keys and roles', 'contracts revoke'), { OLD_MINTER: old! })
  await execute('revoke-minter.json')
  await terminal.run('npx sutler contracts status')
  await buyers.more(8)

  // A backup from an hour ago, as it were: what was sold since then is forgotten.
  await terminal.run(blockWith('Backup and restore', 'pg_dump'))
  const saved = await readGame(database.url)
  await buyers.more(6)
  await Promise.all(ports.map(stopReplica))
  await until(async () => (await sessions()) === 0)
  const lost = await readGame(database.url)
  await terminal.run(blockWith('Backup and restore', 'pg_restore'))
  await Promise.all(ports.map(startReplica))
  await buyers.more(6)
  await buyers.stop()

  await until(async () => (await openOrders()) === 0)
  await terminal.run(blockWith('Backup and restore', 'reconcile'))
  const { SUTLER_SALE_CONTRACT: sale } = parseEnv(readFileSync(join(terminal.folder, '.env'), 'utf8'))
  const { controller } = market()
  await judge(
    { networks, till, sale: sale as Address, controller, ledgers: [lost, await readGame(database.url)] },
    purchases,
  )
  t.diagnostic(
    JSON.stringify({
      purchases: purchases.length,
      dear,
      saved: saved.size,
      lost: lost.size,
      seen:
        Object.groupBy(purchases, ({ seen, status }) => `${seen} ${status}`) &&
        Object.fromEntries(
          Object.entries(Object.groupBy(purchases, ({ seen, status }) => `${seen} ${status}`)).map(([k, v]) => [
            k,
            v!.length,
          ]),
        ),
    }),
  )
  for (const p of purchases.filter((p) => p.seen !== 'done'))
    t.diagnostic(`${p.kind} ${p.protocol} ${p.status} ${p.body.slice(0, 200)}`)
})

type Buyers = {
  /** From now on this too. */
  want(kind: Kind, what: string): void
  /** Until so many more have got what they paid for. */
  more(count: number): Promise<void>
  stop(): Promise<void>
}

/** One agent after another on each protocol, until they are called off. */
function goOnBuying(): Buyers {
  let isOver = false
  const done = () => purchases.filter(({ seen }) => seen === 'done').length
  async function lane(protocol: Protocol): Promise<void> {
    for (let next = 0; !isOver && !over.signal.aborted; next++) {
      const wish = wishes[protocol][next % wishes[protocol].length]!
      purchases.push(await buy(market(), wish))
    }
  }
  const lanes = Promise.all([lane('x402'), lane('mpp')])
  const failed = lanes.then(() => {})
  failed.catch(() => {})
  return {
    want(kind, what) {
      for (const protocol of ['x402', 'mpp'] as const) wishes[protocol].push({ kind, protocol, what })
    },
    async more(count) {
      const enough = done() + count
      await Promise.race([until(() => done() >= enough), failed])
    },
    async stop() {
      isOver = true
      await lanes
    },
  }
}

/** What the Transaction Builder of a Safe does with such a file: the owner signs each transaction, in their order. */
async function execute(file: string): Promise<void> {
  const { transactions } = JSON.parse(readFileSync(join(terminal.folder, file), 'utf8')) as {
    transactions: { to: Address; data: Hex }[]
  }
  await giveGas(networks.chains.native, owner.address, 10n ** 18n)
  const signer = wallet(networks.chains.native, owner)
  for (const { to, data } of transactions) await mined(signer, signer.sendTransaction({ to, data }))
}

async function isOnSale(lot: number): Promise<boolean> {
  const { lots } = (await (await operator('/operator/lots'))!.json()) as { lots: { saleId: number }[] }
  return lots.some(({ saleId }) => saleId === lot)
}

async function priceOf(itemId: string): Promise<string | undefined> {
  const response = await operator('/operator/items')
  const { items } = (await response!.json()) as { items: { id: string; price: string }[] }
  return items.find(({ id }) => id === itemId)?.price
}

async function openOrders(): Promise<number> {
  const { orders } = (await (await operator('/operator/orders?open=true'))!.json()) as { orders: unknown[] }
  return orders.length
}

const block = (words: string) => blockWith('Scaling, stopping, upgrading', words)

async function stopReplica(port: number): Promise<void> {
  await terminal.run(block('kill "$(cat'), { PORT: String(port) })
  await until(async () => (await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => null)) === null)
}

async function startReplica(port: number): Promise<void> {
  await terminal.run(block('sutler start'), { PORT: String(port) })
  await isReady(port)
}

/** Of others than us: a process that holds one has not ended. */
async function sessions(): Promise<number> {
  const { rows } = await onServer(database.url, (client) =>
    client.query<{ n: number }>(
      'select count(*)::int as n from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    ),
  )
  return rows[0]!.n
}
