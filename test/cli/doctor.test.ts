import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parseEnv } from 'node:util'
import type { Address } from '../../src/base/address.ts'
import { silentLog } from '../../src/base/log.ts'
import { loadConfig } from '../../src/config/load.ts'
import type { DevChains } from '../../src/devchain/chains.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { giveGas, giveToken } from '../../src/sandbox/world.ts'
import { type Service, startService } from '../../src/service/service.ts'
import { freePort } from '../support/free-port.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'
import { startChains } from '../support/shop.ts'
import { until } from '../support/until.ts'
import type { Env } from './sutler.ts'
import { typed } from './typed.ts'

// A production that its own commands have opened, and every way in which it cannot sell: each is an F, an exit code, and a line to type next.

const TILL = '0x1111111111111111111111111111111111111111'
const TOKEN_FILE = 'mara.key'
const home = process.cwd()

let chains: DevChains
let nodes: readonly RpcServer[]
let database: TestDatabase
let service: Service | null = null
let keys: readonly Key[]

type Key = { readonly role: string; readonly address: Address | null }

before(async () => {
  process.chdir(mkdtempSync(join(tmpdir(), 'sutler-doctor-')))
  ;[chains, database] = await Promise.all([startChains(), createDatabase()])
  nodes = await Promise.all([1, 2].map(() => serveRpc([chains.native, chains.tempo])))
  const rpc = nodes.flatMap(({ url }) => [`base-sepolia=${url}/84532`, `tempo-moderato=${url}/42431`])
  const url = `http://localhost:${await freePort()}`
  await done(
    'init',
    '--yes',
    '--url',
    url,
    '--networks',
    'base-sepolia,tempo-moderato',
    '--pay-to',
    TILL,
    ...[...['--rpc', rpc.join(), '--surfaces', 'sale,shop', '--database', database.url, '--contact', 'a@studio.test']],
  )
  keys = (JSON.parse(await done('keys', '--json')) as { keys: Key[] }).keys
  const { address: deployer } = JSON.parse(await done('keys', 'make', 'deployer', '--json')) as { address: Address }
  for (const address of [deployer, ...keys.flatMap((key) => key.address ?? [])]) {
    await giveGas(chains.native, address, 10n ** 18n)
    await giveToken(chains.native, '0x036CbD53842c5426634e7929541eC2318f3dCF7e', address, 10n ** 8n)
    await giveToken(chains.tempo, '0x20c0000000000000000000000000000000000000', address, 10n ** 8n)
  }
  // Here the deployer stays the owner.
  await done('contracts', 'deploy', '--key-file', 'keys/deployer.key', '--only', 'sale')
  const loaded = loadConfig(env())
  assert.ok(loaded.mode === 'production')
  service = await startService(loaded.config, { log: silentLog })
  // The shop's own token lets in the first admin, and changes nothing else.
  await done('operators', 'add', 'mara', '--role', 'admin', '--token-file', TOKEN_FILE)
})
after(async () => {
  await service?.stop()
  await Promise.all((nodes ?? []).map((node) => node.close()))
  await chains?.close()
  await database?.drop()
  const folder = process.cwd()
  process.chdir(home)
  rmSync(folder, { recursive: true })
})

function env(): Env {
  const written = existsSync('.env') ? (parseEnv(readFileSync('.env', 'utf8')) as Env) : ({} as Env)
  const { port } = new URL(written['SUTLER_BASE_URL'] ?? 'http://localhost:1')
  return {
    ...written,
    PORT: port,
    HOST: '127.0.0.1',
    SUTLER_DRAIN_SECONDS: '0',
    SUTLER_LOG: 'error',
    ...(existsSync(TOKEN_FILE) ? { SUTLER_TOKEN_FILE: TOKEN_FILE } : {}),
  }
}

async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await typed(args, env())
  assert.equal(code, 0, `sutler ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

async function doctor() {
  const { code, stdout } = await typed(['doctor', '--json'], env())
  return { code, ...(JSON.parse(stdout) as { grade: string; next: string | null; findings: unknown[] }) }
}

/** It cannot sell, and this is what to type. */
async function assertFails(next: RegExp): Promise<void> {
  await until(async () => (await doctor()).code !== 0)
  const found = await doctor()
  assert.deepEqual([found.code, found.grade], [1, 'F'], JSON.stringify(found.findings))
  assert.match(found.next ?? '', next)
}

/** Changes are seen within two seconds, not at once. */
async function assertSells(): Promise<void> {
  await until(async () => (await doctor()).code === 0)
  const { grade, findings } = await doctor()
  assert.ok(grade === 'A' || grade === 'B', JSON.stringify(findings))
}

const signed = ['--key-file', 'keys/deployer.key']
const minter = () => keys.find(({ role }) => role === 'minter')!.address!

test('nothing to sell', async () => {
  await assertFails(/sutler items add .*sutler lots add/)
  await done('items', 'add', 'keys:5', '--name', 'Five Keys', '--price', '1.50')
  await assertSells()
})

test('a contract that is paused', async () => {
  await done('contracts', 'pause', ...signed)
  await assertFails(/sutler contracts unpause --key-file/)
  await done('contracts', 'unpause', ...signed)
  await assertSells()
})

test('a minter without its role', async () => {
  await done('contracts', 'revoke', 'minter', minter(), ...signed)
  await assertFails(new RegExp(`sutler contracts grant minter ${minter()} --key-file`))
  await done('contracts', 'grant', 'minter', minter(), ...signed)
  await assertSells()
})

test('a minter without gas', async () => {
  await chains.native.request({ method: 'dev_setBalance', params: [minter(), '0x0'] })
  await assertFails(new RegExp(`Send the chain's coin to ${minter()}`))
  await giveGas(chains.native, minter(), 10n ** 18n)
  await assertSells()
})

test('a shop that is down', async () => {
  await service!.stop()
  service = null
  await assertFails(/Start it with `sutler start`/)
})
