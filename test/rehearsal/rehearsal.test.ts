import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import type { Address } from '../../src/base/address.ts'
import { roleId } from '../../src/chain/act.ts'
import { giveGas } from '../../src/sandbox/world.ts'
import { newAccount, wallet } from '../devchain/support.ts'
import { post } from '../support/buyers.ts'
import { onServer } from '../support/postgres.ts'
import { until } from '../support/until.ts'
import { type Buyers, gatherBuyers } from './buyers.ts'
import { hasCaddy } from './caddy.ts'
import { type GameLedger, judge, minterOf, payments, readGame } from './judge.ts'
import { blocksOf, blockWith, lineWith } from './page.ts'
import type { Purchase } from './purchases.ts'
import { openStage, type Stage } from './stage.ts'

// The pages of docs/operating/, typed in as they stand: from an empty folder, an empty database and empty chains to a shop of two replicas behind Caddy,
// and what comes on the days that follow, while agents go on buying. The test is everybody who is not the shop: the networks, the owner with
// the cold key, the game, and agents with stock clients. Each test goes on where the one before it ended.

const options = { skip: !hasCaddy() && 'there is no Caddy on this machine' }
/** Eight processes more, and a fifth of a minute of two cores. */
const rarely = {
  skip: options.skip || (process.env['TEST_REHEARSAL'] === undefined && 'not tried; --rehearsal tries it'),
}

let stage: Stage
let buyers: Buyers

before(async () => {
  if (options.skip !== false) return
  stage = await openStage()
  buyers = gatherBuyers(stage)
})
after(() => stage?.close())

test('from an empty folder to sales from every surface on both protocols', options, async (t) => {
  const { terminal } = stage
  const began = performance.now()
  const [init, deploy, start, front, sell, bySafe] = blocksOf('Opening a shop')
  await stage.fund(await terminal.run(init!))
  await terminal.run(deploy!)
  await terminal.run(start!)
  await terminal.run(front!)
  await stage.trustProxy()
  await stage.areReady()
  await terminal.run(sell!)
  const opened = performance.now()
  await buyers.all()
  const seconds = [opened - began, performance.now() - began].map((ms) => (ms / 1000).toFixed(1))
  t.diagnostic(
    `from an empty folder to a shop that sells: ${seconds[0]} s; everything was bought once after ${seconds[1]} s`,
  )
  await terminal.run(bySafe!)
})

test('a lot is added, and an item, and prices change', options, async () => {
  const { terminal } = stage
  buyers.goOn()
  await terminal.run(lineWith('npx sutler lots add 400'))
  await stage.execute('lot-400.json')
  await until(async () => {
    const answer = await stage.ask<{ lots: { saleId: number }[] }>('/operator/lots')
    return answer?.lots.some(({ saleId }) => saleId === 400)
  })
  // What a replica has just read it shows for two seconds, a new lot or none.
  await until(async () => (await lotsAsked(400)).every((status) => status === 402))
  await terminal.run(lineWith('npx sutler items add torch:1'))
  buyers.want('lot', '400')
  buyers.want('item', 'torch:1')
  await until(() => bought('torch:1').length >= 2 && bought('400').length >= 2)
  await terminal.run(lineWith('npx sutler items change torch:1 --price'))
  await terminal.run(lineWith('npx sutler prices change playerLookup 0.05'))
  // What the page promises for every replica.
  await until(async () => (await pricesAsked('torch:1')).every((price) => price === '1.25'))
  const changed = performance.now()
  buyers.want('item', 'torch:1')
  const later = () => bought('torch:1').filter(({ begunAt }) => begunAt > changed)
  await until(() => later().length >= 1)
  const paid = await payments(stage.networks, stage.till)
  for (const torch of bought('torch:1')) {
    const price = Number(paid.find(({ payer }) => payer === torch.buyer.address.toLowerCase())!.amount)
    assert.ok(later().includes(torch) ? price === 1_250_000 : [1_500_000, 1_250_000].includes(price), String(price))
  }
})

test('the key of the minter is rotated, and every replica replaced', rarely, async () => {
  const { terminal, networks } = stage
  const said = await terminal.run(blockWith('Keys and roles', 'keys rotate minter'))
  const [, fresh, old] = /grant minter (0x\w{40})[\s\S]*revoke minter (0x\w{40})/.exec(said)! as unknown as Address[]
  await giveGas(networks.chains.native, fresh!, 10n ** 18n)
  await terminal.run(blockWith('Keys and roles', 'contracts grant'), { NEW_MINTER: fresh! })
  await stage.execute('grant-minter.json')
  for (const port of stage.ports) {
    await stage.stopReplica(port)
    await buyers.more(2)
    await stage.startReplica(port)
  }
  const replaced = performance.now()
  await terminal.run(blockWith('Keys and roles', 'contracts revoke'), { OLD_MINTER: old! })
  await stage.execute('revoke-minter.json')
  const sale = stage.configured('SUTLER_SALE_CONTRACT')
  const reader = wallet(networks.chains.native, newAccount())
  const args = [roleId('MINTER_ROLE'), old!] as const
  assert.equal(await reader.readContract({ address: sale, abi: saleLots.abi, functionName: 'hasRole', args }), false)
  buyers.want('lot', '1')
  const later = () => bought('1').filter(({ begunAt }) => begunAt > replaced)
  await until(() => later().length >= 2)
  for (const { buyer } of later()) assert.equal(await minterOf(networks, sale, buyer.address), fresh!.toLowerCase())
  assert.deepEqual(
    buyers.purchases.filter(({ seen }) => seen !== 'done').map(({ kind, status, body }) => `${kind} ${status} ${body}`),
    [],
    'nobody has noticed anything of all this',
  )
})

test('a backup is restored: what was sold since then is not sold again, and waits for a person', rarely, async (t) => {
  const { terminal, database, ports } = stage
  const trouble = await dumpTrouble(database.url)
  if (trouble !== null) return t.skip(trouble)
  await terminal.run(blockWith('Backup and restore', 'pg_dump'))
  const saved = performance.now()
  let stopped = Number.POSITIVE_INFINITY
  await until(() => forgotten().length >= 3)
  await Promise.all(ports.map(stage.stopReplica))
  await until(stage.isDeserted)
  gone = await readGame(database.url)
  stopped = performance.now()
  await terminal.run(blockWith('Backup and restore', 'pg_restore'))
  await terminal.run(blockWith('Backup and restore', 'sutler restored'))
  await Promise.all(ports.map(stage.startReplica))
  await buyers.more(6)
  await terminal.run(blockWith('Backup and restore', 'reconcile'))
  type Report = { readonly accounts: readonly { readonly items: readonly { kind: string; transaction: string }[] }[] }
  const { accounts } = (await stage.ask<Report>('/operator/reconcile', { method: 'POST' }))!
  const kept = new Set(
    accounts.flatMap(({ items }) => items.filter(({ kind }) => kind === 'held').map(({ transaction }) => transaction)),
  )
  const paid = await payments(stage.networks, stage.till)
  const held = paid.filter(({ transaction }) => kept.has(transaction)).map(({ payer }) => payer)
  for (const { buyer } of forgotten()) assert.ok(held.includes(buyer.address.toLowerCase()), 'is held')
  for (const { buyer, begunAt } of buyers.purchases)
    assert.ok(begunAt < stopped || !held.includes(buyer.address.toLowerCase()), 'what is sold now is not held')

  /** Begun and ended after the backup, and worth more than what is let go. */
  function forgotten(): readonly Purchase[] {
    return buyers.purchases.filter(
      ({ kind, seen, begunAt }) =>
        (kind === 'lot' || kind === 'item') && seen === 'done' && begunAt > saved && begunAt < stopped,
    )
  }
})

/** What the game had given when the shop was stopped for the restore. */
let gone: GameLedger = new Map()

test('whoever was charged has the good, once; whoever was not has nothing', options, async (t) => {
  await buyers.stop()
  await until(async () => (await stage.ask<{ orders: unknown[] }>('/operator/orders?open=true'))?.orders.length === 0)
  const { networks, till, database } = stage
  const [sale, controller] = [stage.configured('SUTLER_SALE_CONTRACT'), stage.configured('SUTLER_CRAFT_CONTROLLER')]
  const ledgers = [gone, await readGame(database.url)]
  await judge({ networks, till, sale, controller, ledgers }, buyers.purchases)
  const counted = Object.groupBy(buyers.purchases, ({ seen, status }) => `${seen} ${status}`)
  t.diagnostic(
    Object.entries(counted)
      .map(([seen, all]) => `${seen}: ${all!.length}`)
      .join(', '),
  )
})

/** Why the documented command cannot be run here; null: it can. */
async function dumpTrouble(databaseUrl: string): Promise<string | null> {
  const { stdout } = spawnSync('pg_dump', ['--version'], { encoding: 'utf8' })
  const ours = Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0)
  const { rows } = await onServer(databaseUrl, (client) =>
    client.query<{ version: string }>(`select current_setting('server_version') as version`),
  )
  const theirs = Number.parseInt(rows[0]!.version, 10)
  if (ours >= theirs) return null
  const trouble = `there is no pg_dump for a PostgreSQL ${theirs}`
  if (process.env['TEST_PROXY'] === 'required') throw new Error(`TEST_PROXY=required, and ${trouble}`)
  return trouble
}

function bought(thing: string): readonly Purchase[] {
  return buyers.purchases.filter(({ what, seen }) => what === thing && seen === 'done')
}

/** What each replica answers who wants a lot and has not paid. */
function lotsAsked(saleId: number): Promise<readonly number[]> {
  const wish = post({ saleId, beneficiary: newAccount().address })
  const ask = async (port: number) => (await fetch(`http://127.0.0.1:${port}/agentic/x402/buy`, wish)).status
  return Promise.all(stage.ports.map(ask))
}

/** What each replica would ask for an item. */
function pricesAsked(itemId: string): Promise<readonly (string | undefined)[]> {
  return Promise.all(
    stage.ports.map(async (port) => {
      const answer = await stage.ask<{ items: { id: string; price: string }[] }>(
        `http://127.0.0.1:${port}/operator/items`,
      )
      return answer?.items.find(({ id }) => id === itemId)?.price
    }),
  )
}
