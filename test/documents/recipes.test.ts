import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { PLACEHOLDER_ADDRESS } from '../../src/base/placeholder.ts'
import { root } from '../cli/sutler.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { operationsOf, readJson } from './documents.ts'
import { buyByTheBook } from './follower.ts'
import { lint } from './program.ts'

// What the pages tell their readers to copy, copied and run.

let shop: TestShop
let recipes: readonly { readonly language: string; readonly code: string }[]
let key: string
let address: string
before(async () => {
  shop = await startShop({
    withSandboxRoutes: true,
    // The recipes end with the first answer; on a busy machine that is not to be a 202.
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 60_000 } }),
  })
  const skill = await (await fetch(`${shop.url}/skill.md`)).text()
  recipes = [...skill.matchAll(/^```(\w+)\n([\s\S]*?)\n```$/gm)].map(([, language, code]) => ({
    language: language!,
    code: code!,
  }))
  const { demo } = (await (await fetch(`${shop.url}/sandbox`)).json()) as {
    demo: { privateKey: string; address: string }
  }
  key = demo.privateKey
  address = demo.address
})
after(() => shop.stop())

async function run(program: string, args: readonly string[]): Promise<string> {
  const env = {
    ...process.env,
    PATH: `${join(root, 'node_modules/.bin')}:${process.env['PATH']}`,
    PRIVATE_KEY: key,
    MPPX_PRIVATE_KEY: key,
    NO_COLOR: '1',
  }
  const { stdout } = await promisify(execFile)(program, [...args], { cwd: root, env })
  return stdout
}

test('there is a recipe for each of three stock clients, and each buys once its reader has put in an address', async () => {
  assert.deepEqual(
    recipes.map(({ language }) => language),
    ['js', 'sh', 'js'],
  )
  for (const { language, code: printed } of recipes) {
    const code = printed.replaceAll(PLACEHOLDER_ADDRESS, address)
    const stdout =
      language === 'sh'
        ? await run('sh', ['-c', code])
        : await run(process.execPath, ['--input-type=module', '-e', code])
    assert.match(stdout, /status['"]?:\s?['"]confirmed['"]/, `${code}\n${stdout}`)
    assert.match(stdout, /tokenId/)
  }
})

test('the home page and llms-full.txt have the same recipes', async () => {
  const home = await (await fetch(shop.url)).text()
  const text = home.replaceAll(/&#(\d+);/g, (_, char: string) => String.fromCharCode(Number(char)))
  const full = await (await fetch(`${shop.url}/llms-full.txt`)).text()
  for (const { code } of recipes) {
    assert.ok(text.includes(code))
    assert.ok(full.includes(code))
  }
})

test('whoever knows nothing but the address, a hash and a curve buys by the book', async () => {
  const { answer, status } = await buyByTheBook(shop.url)
  assert.equal(answer['status'], 'confirmed')
  assert.equal(status['paymentTx'], answer['paymentTx'])
})

test('the tools of the sandbox have a contract of their own, with an answer for each', async () => {
  verifies('D16.11')
  assert.deepEqual(await lint(shop.url, ['openapi.sandbox.json']), [])
  const listed = operationsOf(await readJson(`${shop.url}/openapi.sandbox.json`))
  assert.deepEqual(
    listed.map(({ path }) => path.split('/')[2]),
    [undefined, 'rpc', 'rpc', 'faucet', 'wallet', 'practice', 'practice', 'players', 'console'],
  )
  for (const { path, operation } of listed)
    assert.ok(operation.responses['200']!.content!['application/json']!.example, path)
})
