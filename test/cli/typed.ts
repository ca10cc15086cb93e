import { Writable } from 'node:stream'
import { stringify } from '../../src/base/json.ts'
import { parseCall } from '../../src/cli/command.ts'
import { findCommand } from '../../src/cli/commands.ts'
import { failureOf } from '../../src/cli/failure.ts'
import { createTerminal } from '../../src/cli/terminal.ts'
import type { Env, Finished } from './sutler.ts'

/**
 * What somebody typed, in this very process: a process of its own takes a second of the machine before it begins to think. The working
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
  const terminal = createTerminal({ stdout: stream('stdout'), stderr: stream('stderr') }, args.includes('--json'))
  const found = findCommand(args)
  if (!found) throw new TypeError(`there is no command ${args.join(' ')}`)
  try {
    const command = await found.entry.load()
    const output = await command.run({ ...parseCall(found.entry.name, command, found.rest), env, terminal })
    if (output) said.stdout += `${args.includes('--json') ? stringify(output.json) : output.text}\n`
    return { code: output?.isGood === false ? 1 : 0, ...said }
  } catch (error) {
    const { message, exitCode } = failureOf(error)
    return { code: exitCode, ...said, stderr: `${said.stderr}error: ${message}\n` }
  }
}
