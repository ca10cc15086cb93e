import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { decodeFunctionResult, encodeFunctionData, keccak256, toBytes } from 'viem'
import { craftController } from '../../src/artifacts/CraftController.ts'
import { sandboxSaleLots } from '../../src/artifacts/SandboxSaleLots.ts'
import type { Address } from '../../src/base/address.ts'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigFault } from '../../src/config/options.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { startShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'

const key = (n: number) => `0x${keccak256(toBytes(`key ${n}`)).slice(2)}`
const secret = (n: number) => keccak256(toBytes(`secret ${n}`)).slice(2)
const pem = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({
  type: 'pkcs8',
  format: 'pem',
}) as string

/** A production that starts. */
const production: Readonly<Record<string, string>> = {
  SUTLER_MODE: 'production',
  SUTLER_BASE_URL: 'https://shop.example.org',
  SUTLER_OPERATOR_TOKEN: secret(1),
  SUTLER_RECEIPT_KEY: pem,
  SUTLER_X402_RPC_URL: 'https://rpc.example.org,https://rpc.example.com',
  SUTLER_X402_PAY_TO: '0x1111111111111111111111111111111111111111',
  SUTLER_X402_SETTLER_KEY: key(1),
  SUTLER_X402_TREASURY_KEY: key(2),
  SUTLER_MPP_RPC_URL: 'https://rpc.example.org,https://rpc.example.com',
  SUTLER_MPP_RECIPIENT: '0x1111111111111111111111111111111111111111',
  SUTLER_MPP_SECRET: secret(2),
  SUTLER_MPP_TREASURY_KEY: key(2),
  SUTLER_GAME_RPC_URL: 'https://rpc.example.org',
  SUTLER_SALE_CONTRACT: '0x2222222222222222222222222222222222222222',
  SUTLER_SALE_IDS: '1',
  SUTLER_MINTER_KEY: key(3),
}

/** The options that are named as faulty. */
function faults(changes: Readonly<Record<string, string | undefined>>): readonly string[] {
  try {
    loadConfig({ ...production, ...changes })
    return []
  } catch (error) {
    assert.ok(error instanceof ConfigFault)
    for (const value of Object.values({ ...production, ...changes }))
      if (value && value.length >= 32 && !value.startsWith('http'))
        assert.equal(error.message.includes(value), false, 'a fault must not print the value')
    return [...new Set(error.issues.map(({ option }) => option))]
  }
}

describe('K-03: a secret that is missing or weak', () => {
  test('a whole configuration starts', () => {
    assert.deepEqual(faults({}), [])
  })

  for (const option of [
    'SUTLER_MPP_SECRET',
    'SUTLER_X402_SETTLER_KEY',
    'SUTLER_X402_TREASURY_KEY',
    'SUTLER_MPP_TREASURY_KEY',
    'SUTLER_MINTER_KEY',
    'SUTLER_RECEIPT_KEY',
  ])
    test(`${option} missing refuses the start`, () => {
      assert.deepEqual(faults({ [option]: undefined }), [option])
    })

  for (const [option, weak] of [
    ['SUTLER_MPP_SECRET', 'too short'],
    ['SUTLER_MPP_SECRET', 'changeme-changeme-changeme-changeme'],
    ['SUTLER_MPP_SECRET', 'a'.repeat(64)],
    ['SUTLER_OPERATOR_TOKEN', 'sandbox-operator'],
    ['SUTLER_OPERATOR_TOKEN', 'tmp'],
    ['SUTLER_X402_SETTLER_KEY', `0x${'0'.repeat(63)}1`],
    ['SUTLER_MINTER_KEY', 'not a key'],
    ['SUTLER_RECEIPT_KEY', 'not a key'],
    [
      'SUTLER_RECEIPT_KEY',
      generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    ],
    ['SUTLER_RECEIPT_RETIRED_KEYS', '{"keys":[{}]}'],
  ] as const)
    test(`${option} as ${weak.slice(0, 24).replaceAll('\n', ' ')}… refuses the start`, () => {
      assert.deepEqual(faults({ [option]: weak }), [option])
    })

  test('all faults are told at once', () => {
    verifies('D12.6')
    const found = faults({ SUTLER_MPP_SECRET: 'x', SUTLER_MINTER_KEY: 'y', SUTLER_RECEIPT_KEY: undefined })
    assert.deepEqual(found.toSorted(), ['SUTLER_MINTER_KEY', 'SUTLER_MPP_SECRET', 'SUTLER_RECEIPT_KEY'])
  })
})

describe('K-02: one key, one role', () => {
  test('a key that is used for two roles refuses the start', () => {
    assert.deepEqual(faults({ SUTLER_MINTER_KEY: key(1) }), ['SUTLER_MINTER_KEY'])
    assert.deepEqual(faults({ SUTLER_X402_TREASURY_KEY: key(3) }), ['SUTLER_MINTER_KEY'])
  })

  test('on the chain each key can do its own work and nobody else’s, and the till has no key here', async () => {
    const shop = await startShop({ withoutWorker: true })
    const { native } = shop.chains
    const { sale, craftController: controller } = shop.world.contracts
    const role = (name: string) => keccak256(toBytes(name))
    async function hasRole(
      contract: Address,
      abi: typeof sandboxSaleLots.abi,
      name: string,
      who: Address,
    ): Promise<boolean> {
      const data = encodeFunctionData({ abi, functionName: 'hasRole', args: [role(name), who] })
      const result = (await native.request({
        method: 'eth_call',
        params: [{ to: contract, data }, 'latest'],
      })) as `0x${string}`
      return decodeFunctionResult({ abi, functionName: 'hasRole', data: result })
    }
    const keys = ['settler', 'treasury', 'minter', 'crafter'] as const
    for (const who of keys) {
      const address = demoAddressOf(who)
      assert.equal(await hasRole(sale, sandboxSaleLots.abi, 'MINTER_ROLE', address), who === 'minter', who)
      assert.equal(
        await hasRole(
          controller,
          craftController.abi as unknown as typeof sandboxSaleLots.abi,
          'OPERATOR_ROLE',
          address,
        ),
        who === 'crafter',
        who,
      )
    }
    assert.equal(new Set([...keys, 'till' as const].map(demoAddressOf)).size, 5)
    await shop.stop()
  })
})
