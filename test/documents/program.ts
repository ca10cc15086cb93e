import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const root = join(import.meta.dirname, '../..')

/** A program that scanners run, as they run it. */
export async function run(program: string, args: readonly string[], env: Record<string, string> = {}) {
  const options = { env: { ...process.env, NO_COLOR: '1', ...env }, maxBuffer: 1 << 26, cwd: root }
  const command = [join(root, 'node_modules', program), ...args]
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, command, options)
    return { code: 0, stdout, stderr }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout, stderr }
  }
}

/** What the linter finds in a contract. */
export async function lint(
  shopUrl: string,
  name: string,
  headers: Record<string, string> = {},
): Promise<readonly unknown[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-openapi-'))
  try {
    const file = join(folder, name)
    const text = await (await fetch(`${shopUrl}/${name}`, { headers })).text()
    // Under a public name: the linter warns of documents that point at localhost, rightly.
    writeFileSync(file, text.replaceAll(shopUrl, 'https://shop.sutler.dev'))
    const { code, stdout, stderr } = await run('.bin/redocly', ['lint', '--format=json', file], {
      REDOCLY_TELEMETRY: 'off',
    })
    assert.equal(code, 0, stdout + stderr)
    return (JSON.parse(stdout) as { problems: unknown[] }).problems
  } finally {
    rmSync(folder, { recursive: true })
  }
}
