import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { claimFolder } from '../../src/base/data-folder.ts'

/** A Node before 24, with its arguments: the one that is installed beside the pinned one, or the pinned one that says it is old. */
export const oldNode: readonly string[] = (() => {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter).filter((path) => !path.includes('node_modules'))) {
    const program = join(folder, 'node')
    const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8' })
    if (stdout && Number.parseInt(stdout.slice(1), 10) < 24) return [program]
  }
  const lie = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.0.0' } })`
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(lie)}`]
})()

/** Whatever was started, with all that it started itself. */
export type Started = {
  readonly pid: number
  readonly lines: AsyncIterator<string>
  readonly said: Promise<string>
  /** Everything of it holds our ends of its pipes, so this is when the last of it has ended; code and signal are those of the first. */
  readonly ended: Promise<readonly [code: number | null, signal: NodeJS.Signals | null]>
}

export type Place = { readonly env: Readonly<Record<string, string>>; readonly cwd: string }

export function begin(t: TestContext, [program, ...args]: readonly string[], { env, cwd }: Place): Started {
  // A group of its own, so that whatever a failed test leaves behind can be ended as a whole.
  const child = spawn(program!, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  t.after(() => {
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {}
  })
  return {
    pid: child.pid!,
    lines: createInterface(child.stdout)[Symbol.asyncIterator](),
    said: text(child.stderr),
    ended: once(child, 'close').then(([code, signal]) => [code, signal]),
  }
}

/** The next line of its output that holds these words. */
export async function lineWith({ lines, said }: Started, words: string): Promise<string> {
  for (let next = await lines.next(); !next.done; next = await lines.next())
    if (next.value.includes(words)) return next.value
  assert.fail(`it ended without ${words}: ${await said}`)
}

/** It ended as it does on SIGTERM, once, and nobody holds the folder or the port. */
export async function assertStopped({ said }: Started, { env }: Place): Promise<void> {
  assert.equal((await said).match(/stopping: what was accepted is finished or handed over/g)?.length, 1)
  claimFolder(env['SUTLER_DATA_DIR']!).release()
  const server = createServer().listen(Number(env['PORT']), '127.0.0.1')
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}
