import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigFault, type Environment } from '../../src/config/options.ts'
import { root } from './sutler.ts'

// .env.example is what an operator reads instead of the code, so the code is compared with it.

const lines = readFileSync(join(root, '.env.example'), 'utf8')
  .split('\n')
  .map((line) => /^(# )?([A-Z][A-Z0-9_]+)=(.*)$/.exec(line))
  .filter((match) => match !== null)
  .map(([, hash, name, value]) => ({ name: name!, value: value!, isOptional: hash !== undefined }))
  // The legend at the top.
  .filter(({ name }) => name !== 'NAME')

const key = (digit: string) => `0x${digit.repeat(2)}${'7'.repeat(62)}`
const address = (digit: string) => `0x${digit.repeat(40)}`

/** A shop that sells everything it can. */
const whole: Environment = {
  SUTLER_MODE: 'production',
  SUTLER_BASE_URL: 'https://shop.test',
  SUTLER_RECEIPT_KEY: generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'sec1', format: 'pem' })
    .toString(),
  SUTLER_X402_RPC_URL: 'https://rpc.test,https://rpc-two.test',
  SUTLER_X402_PAY_TO: address('1'),
  SUTLER_X402_SETTLER_KEY: key('1'),
  SUTLER_X402_TREASURY_KEY: key('2'),
  SUTLER_MPP_RPC_URL: 'https://tempo.test,https://tempo-two.test',
  SUTLER_MPP_RECIPIENT: address('2'),
  SUTLER_MPP_SECRET: 'kP2vQ8sX4mR7tY1wZ5aB9cD3eF6gH0jL',
  SUTLER_MPP_TREASURY_KEY: key('3'),
  SUTLER_GAME_RPC_URL: 'https://rpc.test',
  SUTLER_SALE_CONTRACT: address('3'),
  SUTLER_SALE_IDS: '391',
  SUTLER_MINTER_KEY: key('4'),
  SUTLER_CRAFT_CONTROLLER: address('4'),
  SUTLER_CRAFTER_KEY: key('5'),
}
const elsewhere = {
  SUTLER_OPERATOR_TOKEN: 'mQ3xT8vB1nK6wS9dF2gH5jL0pR4yU7zA',
  SUTLER_X402_FACILITATOR: 'https://facilitator.test',
  SUTLER_GAME_BACKEND: 'https://game.test',
  SUTLER_GAME_BACKEND_SECRET: 'zX9cV8bN7mA6sD5fG4hJ3kL2qW1eR0tY',
  SUTLER_MPP_SECRET_PREVIOUS: 'aS5dF8gH2jK4lQ7wE9rT1yU3iO6pZ0xC',
}

/** Every name that the loader asks the environment for; a key may be named as a file, which has no line of its own. */
function namesRead(env: Environment): Set<string> {
  const names = new Set<string>()
  const watched = new Proxy(env, {
    get(target, name) {
      if (typeof name === 'string') names.add(name.replace(/_FILE$/, ''))
      return Reflect.get(target, name)
    },
  })
  loadConfig(watched)
  return names
}

test('every option of the shop is in .env.example, and nothing else is', () => {
  // A facilitator needs no settler, and the loader refuses what nobody would use.
  const { SUTLER_X402_SETTLER_KEY: _, ...unsettled } = whole
  const read = new Set([...namesRead(whole), ...namesRead({ ...unsettled, ...elsewhere })])
  assert.deepEqual(lines.map(({ name }) => name).sort(), [...read].sort())
})

test('what .env.example calls a default is the default', () => {
  // That somebody said it is told all the same.
  const effect = (env: Readonly<Record<string, string | undefined>>) => {
    const loaded = loadConfig(env)
    return loaded.mode === 'production' ? { ...loaded.config, settings: [] } : loaded
  }
  const untouched = effect(whole)
  for (const { name, value } of lines.filter((line) => line.isOptional && line.value !== ''))
    assert.deepEqual(effect({ ...whole, [name]: value }), untouched, name)
})

test('what .env.example leaves empty without a # is what production complains of when it is missing', () => {
  const needed = lines.filter(({ isOptional, value }) => !isOptional && value === '').map(({ name }) => name)
  assert.throws(
    () => loadConfig({ SUTLER_MODE: 'production' }),
    (error) => {
      assert.ok(error instanceof ConfigFault)
      assert.deepEqual(error.issues.map(({ option }) => option).sort(), needed.sort())
      return true
    },
  )
})
