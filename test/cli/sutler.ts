import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { copyTree, embeddedTemplate } from '../support/embedded.ts'
import { freePort } from '../support/free-port.ts'

export const root = join(import.meta.dirname, '../..')
const command = join(root, 'bin/sutler.js')

export type Finished = { readonly code: number | null; readonly stdout: string; readonly stderr: string }
export type Env = Readonly<Record<string, string>>

/** What somebody typed into a terminal: a process of its own, with nothing of our environment but what every program needs. */
export async function sutler(
  args: readonly string[],
  options: { env?: Env; input?: string; cwd?: string } = {},
): Promise<Finished> {
  const { child, exit } = begin(args, options.env ?? {}, options.cwd)
  child.stdin.end(options.input ?? '')
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit])
  return { code, stdout, stderr }
}

/** The same while it runs. */
export function begin(args: readonly string[], env: Env, cwd = tmpdir()) {
  // Commands live for a second: to optimise the code of the embedded engine would take longer than to run it.
  const argv = ['--liftoff-only', command, ...args]
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, argv, { env: { PATH, HOME, ...env }, cwd })
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const exit = once(child, 'exit').then(([code]) => {
    process.off('exit', kill)
    return code as number | null
  })
  return { child, exit }
}

/** A sandbox as `sutler start` runs it. */
export type Sandbox = {
  readonly url: string
  readonly dataDir: string
  /** What every command of an operator needs to find it. */
  readonly env: Env
  /** The lines that the banner offers for copying, by what they buy with. */
  readonly lines: Env
  /** SIGTERM; resolves with the exit code and everything that was said beside the result. */
  stop(): Promise<{ readonly code: number | null; readonly stderr: string }>
  /** SIGKILL: as when the machine dies. */
  kill(): Promise<void>
  /** The same shop again, in the same folder. */
  restart(): Promise<Sandbox>
  remove(): void
}

export async function startSandbox(env: Env = {}, dataDir = newDataDir()): Promise<Sandbox> {
  copyTree(await embeddedTemplate(), dataDir)
  return openShop({ PORT: String(await freePort()), SUTLER_DATA_DIR: dataDir, SUTLER_LOG: 'error', ...env }, dataDir)
}

export function newDataDir(): string {
  return mkdtempSync(join(tmpdir(), 'sutler-cli-'))
}

/** Any shop, by its configuration alone. */
export async function openShop(env: Env, dataDir: string): Promise<Sandbox> {
  const { child, exit } = begin(['start', '--json'], env)
  const stderr = text(child.stderr)
  const [first] = await Promise.race([once(createInterface(child.stdout), 'line'), exit.then(() => [null])])
  if (first === null) throw new Error(`the shop did not start: ${await stderr}`)
  const { url, buy = {} } = JSON.parse(first) as { url: string; buy?: Env }
  return {
    url,
    dataDir,
    env,
    lines: buy,
    async stop() {
      child.kill('SIGTERM')
      return { code: await exit, stderr: await stderr }
    },
    async kill() {
      child.kill('SIGKILL')
      await exit
    },
    restart: () => openShop(env, dataDir),
    remove() {
      child.kill('SIGKILL')
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}
