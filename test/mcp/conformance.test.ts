import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startFixture } from './fixture.ts'
import { installed } from './installed.ts'

// The official suites against the very core that the shop runs on, with the tools they call by name. A baseline lists what this server
// does not declare: prompts, completion, logging, sampling, elicitation, subscriptions, tasks, streams. A scenario outside of it that
// fails, and one inside that begins to pass, both fail the run.

const suites = [
  {
    revision: '2025-11-25',
    program: installed('@modelcontextprotocol/conformance', 'dist/index.js'),
    options: [],
    mustPass: ['server-initialize', 'ping', 'tools-list', 'tools-call-error', 'dns-rebinding-protection'],
  },
  {
    revision: '2026-07-28',
    program: installed('mcp-conformance-next', 'dist/index.js'),
    options: ['--requirements', '2026-07-28', '--timeout', '8000'],
    mustPass: [
      'server-stateless',
      'http-header-validation',
      'json-schema-2020-12',
      'sep-2164-resource-not-found',
      'dns-rebinding-protection',
    ],
  },
] as const

let fixture: Awaited<ReturnType<typeof startFixture>>
let folder: string
before(async () => {
  fixture = await startFixture()
  folder = mkdtempSync(join(tmpdir(), 'sutler-conformance-'))
})
after(async () => {
  await fixture.stop()
  rmSync(folder, { recursive: true })
})

for (const { revision, program, options, mustPass } of suites) {
  test(`the official conformance suite of ${revision} finds only what is not declared`, async () => {
    const baseline = join(import.meta.dirname, `baseline-${revision}.yml`)
    const args = [
      'server',
      '--url',
      fixture.url,
      '--expected-failures',
      baseline,
      '--output-dir',
      join(folder, revision),
    ]
    const { code, output } = await run(program, [...args, ...options])
    assert.equal(code, 0, output)
    for (const scenario of mustPass) assert.match(output, new RegExp(`✓ ${scenario}: [1-9]\\d* passed, 0 failed`))
  })
}

function run(program: string, args: readonly string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [program, ...args], { cwd: folder })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  return new Promise((resolve, reject) =>
    child.once('error', reject).once('close', (code) => resolve({ code, output })),
  )
}
