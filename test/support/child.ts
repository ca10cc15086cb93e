import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { TestContext } from 'node:test'

/** A process that talks in lines, which a test may kill at any of them. */
export type Child = {
  readonly pid: number
  /** The next line; null when the process has closed its output. */
  line(): Promise<string | null>
  /** Every line that was written before the process ended. */
  rest(): Promise<readonly string[]>
  /** Ends it and waits until it is gone. */
  kill(signal: NodeJS.Signals): Promise<void>
  /** Closes its input and waits for its own end; resolves with the exit code. */
  end(): Promise<number | null>
}

export type ChildOptions = {
  /** Whatever becomes of this test, the process does not outlive it. */
  readonly test?: TestContext
  /** A module to load first, in every thread. */
  readonly preload?: string
  readonly env?: Readonly<Record<string, string>>
}

/** Starts a script with our own Node. */
export function startChild(script: string, args: readonly string[], options: ChildOptions = {}): Child {
  const { test, preload, env } = options
  // They live for a second or two. To optimise the code of the embedded engine would take them longer than to run it.
  const argv = ['--liftoff-only', ...(preload ? ['--import', preload] : []), script, ...args]
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(process.execPath, argv, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const exit = new Promise<number | null>((done) => child.once('exit', done))
  test?.after(() => child.kill('SIGKILL'))
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const line = async () => {
    const { done, value } = await lines.next()
    return done ? null : value
  }
  return {
    pid: child.pid!,
    line,
    async rest() {
      const all: string[] = []
      for (let next = await line(); next !== null; next = await line()) all.push(next)
      return all
    },
    async kill(signal) {
      child.kill(signal)
      await exit
    },
    async end() {
      child.stdin.end()
      return exit
    },
  }
}
