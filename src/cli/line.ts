import { nearestWord } from '../base/nearest-word.ts'
import { VERSION } from '../base/version.ts'
import type { Environment } from '../config/options.ts'
import { type Entry, helpOf, parseCall, SaidAlready, UsageFault } from './command.ts'
import { commands, findCommand, groupOf } from './commands.ts'
import { createTerminal, type Streams, type Terminal } from './terminal.ts'

/** What a line runs in. Its environment is read when a command needs it: help and the version never do. */
type Surroundings = { readonly streams: Streams; readEnvironment(): Environment }

/** Runs what was typed. Resolves with the exit code: 0 done, 1 refused or failed, 2 not understood. */
export async function runLine(argv: readonly string[], { streams, readEnvironment }: Surroundings): Promise<number> {
  const terminal = createTerminal(streams, argv.includes('--json'))
  try {
    return await dispatch(argv, { terminal, readEnvironment })
  } catch (error) {
    if (error instanceof SaidAlready) return 1
    const { failureOf } = await import('./failure.ts')
    const { code, message, exitCode } = failureOf(error)
    if (argv.includes('--json')) terminal.show({ json: { error: { code, message } }, text: '' })
    else terminal.complain(`${terminal.style.red('error:')} ${message}`)
    return exitCode
  }
}

type Call = Pick<Surroundings, 'readEnvironment'> & { readonly terminal: Terminal }

async function dispatch(given: readonly string[], { terminal, readEnvironment }: Call): Promise<number> {
  const argv = inOrder(given)
  const [first, second] = argv
  const group = groupOf(first ?? '')
  if (first === undefined || isHelp(first) || (group.length > 0 && isHelp(second))) {
    const listed = group.length > 0 ? group : commands
    terminal.show({
      json: listed.map(({ name, summary }) => ({ name, summary })),
      text: overview(listed, terminal),
    })
    return 0
  }
  if (first === '--version' || first === '-v') {
    terminal.show({ json: { version: VERSION }, text: VERSION })
    return 0
  }
  const found = findCommand(argv)
  if (!found) throw notFound(argv)
  const { entry, rest } = found
  const command = await entry.load()
  const typed = parseCall(entry.name, command, rest)
  if (typed.flag('help')) {
    const { args, about } = command
    terminal.show({ json: { name: entry.name, args, about }, text: helpOf(entry.name, command, terminal) })
    return 0
  }
  const output = await command.run({ ...typed, env: readEnvironment(), terminal })
  if (output) terminal.show(output)
  return output?.isGood === false ? 1 : 0
}

/** The command comes first, however it was typed: `--json orders` is `orders --json`, and `help orders show` is `orders show --help`. */
function inOrder([first, ...rest]: readonly string[]): readonly string[] {
  if (first === '--json') return [...rest, first]
  if (first === 'help' && rest.some((word) => !word.startsWith('-'))) return [...rest, '--help']
  return first === undefined ? [] : [first, ...rest]
}

function isHelp(word: string | undefined): boolean {
  return word === 'help' || word === '--help' || word === '-h'
}

function overview(listed: readonly Entry[], { style, table }: Terminal): string {
  return [
    `${style.bold('sutler')} ${VERSION}: the shop counter for software agents`,
    '',
    `${style.bold('Usage')}  sutler <command> [options]`,
    '',
    table(listed.map(({ name, summary }) => [`  ${style.cyan(name)}`, summary])),
    '',
    `Each tells more with --help, and prints JSON with --json. New here? Run ${style.cyan('sutler start')}, then ${style.cyan('sutler demo')}.`,
  ].join('\n')
}

/** Commands that are no more, and what to do instead. */
const GONE: Readonly<Record<string, string>> = {
  export: 'finished work is kept for SUTLER_KEEP_DAYS, and backups hold it for longer',
}

function notFound([first = '', second]: readonly string[]): UsageFault {
  const group = groupOf(first)
  if (group.length > 0)
    return new UsageFault(
      `there is no command ${first} ${second}; there are ${group.map(({ name }) => name).join(', ')}`,
      null,
    )
  const instead = GONE[first]
  if (instead !== undefined) return new UsageFault(`there is no command ${first}; ${instead}`, null)
  const meant = nearestWord(first, [...new Set(commands.map(({ name }) => name.split(' ')[0]!))])
  const hint = meant === null ? '' : `; there is ${meant}`
  return new UsageFault(`there is no ${first.startsWith('-') ? 'option' : 'command'} ${first}${hint}`, null)
}
