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
