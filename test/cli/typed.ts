import { Writable } from 'node:stream'
import type { JsonObject } from '../../src/base/json.ts'
import { runLine } from '../../src/cli/line.ts'
import type { Env, Finished } from './sutler.ts'

/**
 * What somebody typed, in this very process: a process of its own takes half a second of the machine before it begins to think. The working
 * folder is this process's.
 */
export async function typed(args: readonly string[], env: Env): Promise<Finished> {
  const said = { stdout: '', stderr: '' }
  const stream = (name: keyof typeof said) =>
    new Writable({
      decodeStrings: false,
      write(text: string, _encoding, written) {
        said[name] += text
        written()
      },
    }) as unknown as NodeJS.WriteStream
  const streams = { stdout: stream('stdout'), stderr: stream('stderr') }
  const code = await runLine(args, { streams, readEnvironment: () => env })
  return { code, ...said }
}

/** The same with `--json`, of a command that is expected to do what it is asked. */
export async function asked<Answer = JsonObject>(args: readonly string[], env: Env): Promise<Answer> {
  const { code, stdout, stderr } = await typed([...args, '--json'], env)
  if (code !== 0) throw new Error(`sutler ${args.join(' ')} ended with ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout) as Answer
}

/**
 * A start in this process, which must be one that is refused: one that succeeds would wait for a signal to this process. It leaves no ear for
 * signals behind, which would keep this process from ending by them.
 */
export async function refusedStart(env: Env, flags: readonly string[] = []): Promise<Finished> {
  const signals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const
  const earlier = new Map(signals.map((signal) => [signal, process.listeners(signal)]))
  try {
    return await typed(['start', ...flags], env)
  } finally {
    for (const [signal, kept] of earlier)
      for (const listener of process.listeners(signal)) if (!kept.includes(listener)) process.off(signal, listener)
  }
}
