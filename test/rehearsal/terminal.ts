import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type Env, root } from '../cli/sutler.ts'
import { variablesIn } from './page.ts'

/** A folder, and a shell in it. */
export type Terminal = {
  readonly folder: string
  /** Runs a block of the page; throws with everything it said when it fails. */
  run(block: string, values?: Env): Promise<string>
  /** Sets a variable for all that follows. */
  set(values: Env): void
  /** Ends what was left running, by the pids that the page has people keep. */
  close(): void
}

/** `npx sutler` is this checkout: npm itself would take a second of each command. test/package/pack.test.ts runs the real one. */
export function openTerminal(folder: string, first: Env): Terminal {
  const bin = join(folder, '.bin')
  mkdirSync(bin)
  const npx = join(bin, 'npx')
  writeFileSync(npx, `#!/bin/sh\nshift\nexec "${process.execPath}" "${join(root, 'bin/sutler.js')}" "$@"\n`)
  chmodSync(npx, 0o755)
  const { PATH = '', HOME = '', NODE_COMPILE_CACHE = '' } = process.env
  let values: Env = { PATH: [bin, PATH].join(delimiter), HOME, NODE_COMPILE_CACHE, ...first }

  const close = () => {
    for (const name of readdirSync(folder).filter((file) => file.endsWith('.pid')))
      try {
        process.kill(Number(readFileSync(join(folder, name), 'utf8')), 'SIGKILL')
      } catch {}
  }
  process.once('exit', close)

  return {
    folder,
    async run(block, more = {}) {
      const env = { ...values, ...more }
      const missing = variablesIn(block).filter((name) => env[name] === undefined)
      if (missing.length > 0) throw new Error(`nobody has set ${missing.join(', ')}`)
      const child = spawn('sh', ['-e', '-c', block], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] })
      const code = new Promise<number | null>((done) => child.once('exit', done))
      const [status, stdout, stderr] = await Promise.all([code, text(child.stdout), text(child.stderr)])
      if (status !== 0) throw new Error(`${block}\nended with ${status}:\n${stdout}${stderr}`)
      return stdout
    },
    set(more) {
      values = { ...values, ...more }
    },
    close() {
      process.off('exit', close)
      close()
    },
  }
}
