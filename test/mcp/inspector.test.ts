import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startShop, type TestShop } from '../support/shop.ts'
import { installed } from './installed.ts'

// The official Inspector's command line against the whole shop.

const program = installed('@modelcontextprotocol/inspector', 'clients/launcher/build/index.js')

let shop: TestShop
let home: string
before(async () => {
  shop = await startShop()
  home = mkdtempSync(join(tmpdir(), 'sutler-inspector-'))
})
after(async () => {
  await shop.stop()
  rmSync(home, { recursive: true })
})

async function inspect(era: string, ...args: string[]): Promise<{ code: number | null; out: string; all: string }> {
  const target = [`${shop.url}/mcp`, '--protocol-era', era, '--format', 'json', '-q']
  const child = spawn(process.execPath, [program, '--cli', ...target, ...args], {
    cwd: home,
    env: { ...process.env, HOME: home },
  })
  const output = { out: '', all: '' }
  child.stdout.on('data', (chunk) => {
    output.out += chunk
    output.all += chunk
  })
  child.stderr.on('data', (chunk) => {
    output.all += chunk
  })
  return new Promise((resolve, reject) =>
    child.once('error', reject).once('close', (code) => resolve({ code, ...output })),
  )
}

test('the Inspector lists all tools and finds no fault with their schemas', async () => {
  const { code, out, all } = await inspect('legacy', '--method', 'tools/list', '--strict')
  assert.equal(code, 0, all)
  assert.match(out, /buy_sale_lot/)
})

test('the Inspector calls a free tool in the modern era', async () => {
  const input = JSON.stringify({ saleId: 392, beneficiary: '0x00000000000000000000000000000000000000aa' })
  const { code, out, all } = await inspect(
    'modern',
    '--method',
    'tools/call',
    '--tool-name',
    'quote_sale_lot',
    '--tool-args-json',
    input,
  )
  assert.equal(code, 0, all)
  assert.match(out, /"executable":\s*true/)
})

const TOOL_IS_ERROR = 5

test('the Inspector shows the whole challenge of a paid tool', async () => {
  const { code, out, all } = await inspect('legacy', '--method', 'tools/call', '--tool-name', 'check_payment_gateway')
  assert.equal(code, TOOL_IS_ERROR, all)
  assert.match(out, /"accepts"/)
})
