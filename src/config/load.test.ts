import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { inspect } from 'node:util'
import { parseUsd } from '../base/money.ts'
import { confirmationsFor } from './config.ts'
import { loadConfig } from './load.ts'
import { ConfigFault, type Environment } from './options.ts'

const key = (digit: string) => `0x${digit.repeat(2)}${'7'.repeat(62)}`
const address = (digit: string) => `0x${digit.repeat(40)}`
const RECEIPT_KEY = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .privateKey.export({ type: 'sec1', format: 'pem' })
  .toString()

/** Everything that production needs, and nothing more. */
const production: Environment = {
  SUTLER_MODE: 'production',
  SUTLER_BASE_URL: 'https://shop.test/',
  SUTLER_RECEIPT_KEY: RECEIPT_KEY,
  SUTLER_X402_RPC_URL: 'https://rpc.test, https://rpc-two.test',
  SUTLER_X402_PAY_TO: address('1'),
  SUTLER_X402_SETTLER_KEY: key('1'),
  SUTLER_X402_TREASURY_KEY: key('2'),
  SUTLER_MPP_RPC_URL: 'https://tempo.test, https://tempo-two.test',
  SUTLER_MPP_RECIPIENT: address('2'),
  SUTLER_MPP_SECRET: 'kP2vQ8sX4mR7tY1wZ5aB9cD3eF6gH0jL',
  SUTLER_MPP_TREASURY_KEY: key('3'),
  SUTLER_GAME_RPC_URL: 'https://rpc.test',
}

function faultsOf(env: Environment): Record<string, string> {
  try {
    loadConfig(env)
    return {}
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error
    return Object.fromEntries(error.issues.map(({ option, message }) => [option, message]))
  }
}

describe('no option at all', () => {
  test('is the sandbox, on loopback', () => {
    const loaded = loadConfig({})
    assert.equal(loaded.mode, 'sandbox')
    assert.ok(loaded.mode === 'sandbox' && loaded.common.http.host === '127.0.0.1')
  })

  test('an option that only production reads is not ignored', () => {
    assert.match(faultsOf({ SUTLER_X402_PAY_TO: address('1') })['SUTLER_X402_PAY_TO']!, /SUTLER_MODE=production/)
  })
})

describe('production', () => {
  test('loads when everything is there, and both protocols are on', () => {
    const loaded = loadConfig(production)
    assert.ok(loaded.mode === 'production')
    const { http, x402, mpp, operatorToken } = loaded.config
    assert.equal(http.baseUrl, 'https://shop.test')
    assert.equal(http.x402BaseUrl, 'https://shop.test')
    assert.equal(x402?.network, 'eip155:8453')
    assert.deepEqual(mpp?.chain.rpcUrls, ['https://tempo.test', 'https://tempo-two.test'])
    assert.equal(mpp?.realm, 'shop.test')
    assert.equal(operatorToken, null)
  })

  test('K-03: tells all that is missing at once, each with what to set', () => {
    const faults = faultsOf({ SUTLER_MODE: 'production' })
    for (const option of Object.keys(production).filter((name) => name !== 'SUTLER_MODE'))
      assert.match(faults[option] ?? '', /missing; set it/, option)
  })

  for (const [option, value, complaint] of [
    ['SUTLER_BASE_URL', 'http://shop.test', /https/],
    ['SUTLER_BASE_URL', 'shop', /not a URL/],
    ['SUTLER_BASE_URL', 'ftp://shop.test', /https/],
    ['SUTLER_X402_BASE_URL', 'http://other.test', /https/],
    ['SUTLER_X402_PAY_TO', '0x12', /not an address/],
    ['SUTLER_X402_PAY_TO', '0x5aaeb6053F3E94C9b9A09f33669435E7Ef1BeAed', /checksum/],
    ['SUTLER_X402_PAY_TO', address('0'), /zero address/],
    ['SUTLER_X402_PAY_TO', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', /token contract/],
    ['SUTLER_MPP_RECIPIENT', '0x20C000000000000000000000b9537d11c60E8b50', /token contract/],
    ['SUTLER_X402_SETTLER_KEY', '0x1234', /not a private key/],
    ['SUTLER_X402_SETTLER_KEY', `0x${'1'.padStart(64, '0')}`, /well-known/],
    ['SUTLER_MPP_TREASURY_KEY', key('1'), /same key as SUTLER_X402_SETTLER_KEY/],
    ['SUTLER_MPP_SECRET', 'short', /too short/],
    ['SUTLER_MPP_SECRET', 'x'.repeat(64), /well-known or repeated/],
    ['SUTLER_MPP_SECRET', 'please-change-me-please-change-me-now', /well-known/],
    ['SUTLER_MPP_SECRET_PREVIOUS', 'short', /too short/],
    ['SUTLER_OPERATOR_TOKEN', 'short', /too short/],
    ['SUTLER_MPP_REALM', 'Sütler', /plain ASCII/],
    ['SUTLER_MPP_MODES', 'none', /pull, push, or both/],
    ['SUTLER_MPP_MODES', 'pull,psuh', /pull, push, or both/],
    ['SUTLER_X402_NETWORK', 'mainnet', /one of base, base-sepolia/],
    ['SUTLER_X402_FACILITATOR', 'http://facilitator.test', /https/],
    ['SUTLER_X402_CONFIRMATIONS', '1-3', /amount:blocks/],
    ['SUTLER_X402_RPC_URL', 'http://rpc.test,https://rpc-two.test', /https/],
    ['SUTLER_GAME_RPC_URL', 'http://rpc.test', /https/],
    ['SUTLER_X402_RPC_URL', 'https://rpc.test', /another provider after a comma.*SUTLER_SECOND_OPINION_FROM=never/],
    ['SUTLER_MPP_RPC_URL', 'https://rpc.test/one,https://rpc.test:8443/two', /one host only/],
    ['SUTLER_MPP_RPC_URL', 'http://localhost:1/a,http://localhost:1/b', /one host only/],
    ['SUTLER_SECOND_OPINION_FROM', 'sometimes', /amount of dollars, such as 100.00, or never/],
    ['SUTLER_BLOCKED_PAYERS', `${address('a')},0x12`, /0x12 is not an address/],
    ['SUTLER_WAIT_MS', '50', /from 100 to 60000/],
    ['SUTLER_WAIT_MS', '1e3', /whole number/],
    ['SUTLER_DB_POOL', '0', /from 1/],
    ['SUTLER_LOG', 'loud', /one of debug/],
    ['PORT', '70000', /65535/],
    ['PORT', '0', /from 1/],
    ['DATABASE_URL', 'mysql://x', /postgres/],
    ['SUTLER_SALE_CONTRACT', 'x', /not an address/],
    ['SUTLER_RECEIPT_KEY', 'x'.repeat(40), /P-256/],
    ['SUTLER_MPP_SECERT', 'x', /did you mean SUTLER_MPP_SECRET\?/],
    ['SUTLER_KEEP_EVENTS_DAYS', '90', /is not an option; SUTLER_KEEP_DAYS says/],
    ['SUTLER_X402_FACILITATOR_HEADERS', '[', /./],
  ] as const) {
    test(`refuses ${option}=${value.slice(0, 44)}`, () => {
      const more = option === 'SUTLER_X402_FACILITATOR_HEADERS' ? { SUTLER_X402_FACILITATOR: 'https://f.test' } : {}
      assert.match(faultsOf({ ...production, ...more, [option]: value })[option] ?? 'nothing', complaint)
    })
  }

  test('a key that a remote facilitator leaves without work is refused, and not taken for a typing mistake', () => {
    const faults = faultsOf({ ...production, SUTLER_X402_FACILITATOR: 'https://facilitator.test' })
    assert.deepEqual(Object.keys(faults), ['SUTLER_X402_SETTLER_KEY'])
    assert.match(faults['SUTLER_X402_SETTLER_KEY']!, /remote facilitator settles.*leave it out/)
  })

  test('one node per chain is enough for whoever says so, and so are two ports of this machine', () => {
    const alone = { SUTLER_X402_RPC_URL: 'https://rpc.test', SUTLER_SECOND_OPINION_FROM: 'never' }
    const here = { SUTLER_X402_RPC_URL: 'http://127.0.0.1:8545,http://127.0.0.1:8546' }
    for (const more of [alone, here]) assert.deepEqual(faultsOf({ ...production, ...more }), {})
  })

  test('large payments need a second opinion unless an operator says otherwise', () => {
    const from = (env: Environment) => {
      const loaded = loadConfig({ ...production, ...env })
      assert.ok(loaded.mode === 'production')
      return loaded.config.operations.secondOpinionFrom
    }
    assert.equal(from({}), parseUsd('100.00'))
    assert.equal(from({ SUTLER_SECOND_OPINION_FROM: '0' }), 0n)
    assert.equal(from({ SUTLER_SECOND_OPINION_FROM: 'never' }), null)
  })

  test('both protocols switched off sell nothing', () => {
    assert.match(faultsOf({ SUTLER_X402: 'false', SUTLER_MPP: 'false' })['SUTLER_MPP']!, /nothing could be sold/)
  })

  test('a protocol that is off needs none of its options', () => {
    const without = Object.fromEntries(Object.entries(production).filter(([name]) => !name.startsWith('SUTLER_MPP')))
    const loaded = loadConfig({ ...without, SUTLER_MPP: 'false' })
    assert.ok(loaded.mode === 'production' && loaded.config.mpp === null)
    assert.match(
      faultsOf({ ...without, SUTLER_MPP: 'false', SUTLER_X402_PAY_TO: '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913' })[
        'SUTLER_X402_PAY_TO'
      ] ?? 'nothing',
      /token contract/,
    )
  })

  test('E11: a protocol that is off and keeps its options is retired', () => {
    const loaded = loadConfig({ ...production, SUTLER_MPP: 'false' })
    assert.ok(loaded.mode === 'production')
    const { x402, mpp, retired } = loaded.config
    const kept = retired.map(({ rail, config }) => `${rail} ${config.network}`)
    assert.deepEqual([x402?.network, mpp, kept], ['eip155:8453', null, ['mpp tempo:4217']])
  })

  test('E11: a surface may be off, but not all of them', () => {
    const loaded = loadConfig({ ...production, SUTLER_SALE: 'false' })
    assert.ok(loaded.mode === 'production' && loaded.config.notSold.has('sale') && loaded.config.notSold.size === 1)
    const none = { SUTLER_SALE: 'false', SUTLER_SHOP: 'false', SUTLER_GATEWAY: 'false', SUTLER_CRAFT: 'false' }
    assert.match(faultsOf(none)['SUTLER_SALE']!, /nothing could be sold/)
  })

  test('M-13: after a rotation both secrets are read, the new one first', () => {
    const loaded = loadConfig({ ...production, SUTLER_MPP_SECRET_PREVIOUS: 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6' })
    assert.ok(loaded.mode === 'production')
    assert.deepEqual(
      loaded.config.mpp?.secrets.map((secret) => secret.reveal()),
      [production['SUTLER_MPP_SECRET'], 'A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6'],
    )
  })

  test('K-03: a secret may come from a file, but not from two places', (t: TestContext) => {
    const folder = mkdtempSync(join(tmpdir(), 'sutler-config-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const file = join(folder, 'secret')
    writeFileSync(file, `${production['SUTLER_MPP_SECRET']}\n`, { mode: 0o600 })
    const { SUTLER_MPP_SECRET: _, ...rest } = production
    const loaded = loadConfig({ ...rest, SUTLER_MPP_SECRET_FILE: file })
    assert.ok(loaded.mode === 'production')
    assert.equal(loaded.config.mpp?.secrets[0].reveal(), production['SUTLER_MPP_SECRET'])
    chmodSync(file, 0o644)
    assert.match(
      faultsOf({ ...rest, SUTLER_MPP_SECRET_FILE: file })['SUTLER_MPP_SECRET_FILE']!,
      /every user .* chmod 600/,
    )
    chmodSync(file, 0o640)
    assert.match(faultsOf({ ...production, SUTLER_MPP_SECRET_FILE: file })['SUTLER_MPP_SECRET']!, /set twice/)
    assert.match(
      faultsOf({ ...rest, SUTLER_MPP_SECRET_FILE: join(folder, 'none') })['SUTLER_MPP_SECRET_FILE']!,
      /cannot be read/,
    )
  })

  test('K-01: neither the configuration nor its faults show a secret', () => {
    const loaded = loadConfig(production)
    const shown = [
      inspect(loaded, { depth: 12 }),
      JSON.stringify(loaded, (_key, v) => (typeof v === 'bigint' ? '' : v)),
    ]
    const faults = JSON.stringify(faultsOf({ ...production, SUTLER_X402_SETTLER_KEY: `${key('1')}00`, PORT: 'x' }))
    for (const text of [...shown, faults])
      for (const secret of [key('1'), key('2'), key('3'), production['SUTLER_MPP_SECRET']!])
        assert.ok(!text.includes(secret))
  })
})

test('M-19: larger payments must lie deeper', () => {
  const blocks = confirmationsFor([
    { fromAmount: parseUsd('1.01'), blocks: 3 },
    { fromAmount: parseUsd('0'), blocks: 1 },
    { fromAmount: parseUsd('100.01'), blocks: 60 },
  ])
  assert.deepEqual(
    ['0', '1', '1.01', '100', '100.01', '5000'].map((amount) => blocks(parseUsd(amount))),
    [1, 1, 3, 3, 60, 60],
  )
  assert.equal(confirmationsFor([])(5n), 1)
})
