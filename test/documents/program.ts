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

/** What the linter finds in contracts: all of them in one run, for to start it takes longer than to read one. */
export async function lint(
  shopUrl: string,
  names: readonly string[],
  headers: Record<string, string> = {},
): Promise<readonly unknown[]> {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-openapi-'))
  try {
    const files = names.map((name) => join(folder, name))
    for (const [index, name] of names.entries()) {
      const text = await (await fetch(`${shopUrl}/${name}`, { headers })).text()
      // Under a public name: the linter warns of documents that point at localhost, rightly.
      writeFileSync(files[index]!, text.replaceAll(shopUrl, 'https://shop.sutler.dev'))
    }
    const { code, stdout, stderr } = await run('.bin/redocly', ['lint', '--format=json', ...files], {
      REDOCLY_TELEMETRY: 'off',
    })
    assert.equal(code, 0, stdout + stderr)
    // One document after the other, without anything in between.
    const results = JSON.parse(`[${stdout.replace(/^\}\{$/gm, '},{')}]`) as { problems: unknown[] }[]
    assert.equal(results.length, names.length)
    return results.flatMap(({ problems }) => problems)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
