import { parseArgs } from 'node:util'
import type { Environment } from '../config/options.ts'
import type { Output } from './output.ts'
import type { Terminal } from './terminal.ts'

/** One word, or two, after `sutler`. Its help is made of this, and so is the check of what was typed. */
export type Command = {
  /** What follows the name: `<order>` must be given, `[url]` may be, and of `[transfer…]` there may be many. */
  readonly args: string
  /** What it does and what to expect of it, in a few sentences. */
  readonly about: string
  readonly options: Readonly<Record<string, Option>>
  /** Lines that can be copied, and what each is for. */
  readonly examples: readonly (readonly [line: string, what: string])[]
  /** Null when everything has been said already. */
  run(call: CommandCall): Promise<Output | null>
}

/** A line of `sutler --help`. The command itself is loaded when it is asked for: the list must not wait for a database engine. */
export type Entry = { readonly name: string; readonly summary: string; load(): Promise<Command> }

/** An option without a value to name is a switch. */
export type Option = { readonly value?: string; readonly about: string }

export type CommandCall = {
  readonly args: readonly string[]
  /** The value of an option; undefined when it was not given. */
  option(name: string): string | undefined
  flag(name: string): boolean
  readonly env: Environment
  readonly terminal: Terminal
}

/** What every command understands. */
const common: Readonly<Record<string, Option>> = {
  json: { about: 'print one JSON document instead of text' },
  help: { about: 'show this help' },
}

/** Options that reach a shop from anywhere. */
export const shopOptions: Readonly<Record<string, Option>> = {
  url: { value: 'url', about: 'the shop; else SUTLER_BASE_URL, else http://localhost:4020' },
}
export const operatorOptions: Readonly<Record<string, Option>> = {
  ...shopOptions,
  token: { value: 'token', about: 'a personal token; else SUTLER_TOKEN, or SUTLER_OPERATOR_TOKEN' },
}

type Typed = Pick<CommandCall, 'args' | 'option' | 'flag'>

/** Reads what was typed after the name of a command; throws UsageFault when the command does not know it. */
export function parseCall(name: string, { args, options }: Command, argv: readonly string[]): Typed {
  const known = { ...options, ...common }
  const config = Object.fromEntries(
    Object.entries(known).map(([option, { value }]) => [option, { type: value ? 'string' : 'boolean' } as const]),
  )
  let parsed: ReturnType<typeof parseArgs>
  try {
    parsed = parseArgs({ args: [...argv], options: config, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageFault(sentenceOf(error as Error), name)
  }
  const { positionals, values } = parsed
  const isHelp = values['help'] === true
  if (!isHelp) checkCount(name, args, positionals.length)
  const look = (option: string) => {
    if (!(option in known)) throw new TypeError(`sutler ${name} has no option ${option}`)
    return values[option]
  }
  return {
    args: positionals,
    option(option) {
      const value = look(option)
      return typeof value === 'string' ? value : undefined
    },
    flag: (option) => look(option) === true,
  }
}

function checkCount(name: string, args: string, given: number): void {
  const least = args.match(/<[^>]+>/g)?.length ?? 0
  const most = args.includes('…') ? Number.POSITIVE_INFINITY : least + (args.match(/\[[^\]]+\]/g)?.length ?? 0)
  if (given < least) throw new UsageFault(`it needs ${args}`, name)
  if (given > most) throw new UsageFault(most === 0 ? 'it takes no arguments' : `it takes no more than ${args}`, name)
}

/** Node's own words are good, but for their advice about `--`, which is for another kind of mistake. */
function sentenceOf({ message }: Error): string {
  const first = message.split(/\. (?:To specify|Did you)/)[0]!.replace(/\.$/, '')
  return `${first.charAt(0).toLowerCase()}${first.slice(1)}`
}

export function helpOf(name: string, { args, about, options, examples }: Command, terminal: Terminal): string {
  const { bold, dim } = terminal.style
  const usage = ['sutler', name, args, '[options]'].filter((part) => part !== '').join(' ')
  const rows = Object.entries({ ...options, ...common }).map(([option, { value, about }]) => [
    `  --${option}${value ? ` <${value}>` : ''}`,
    about,
  ])
  return [
    `${bold('Usage')}  ${usage}`,
    '',
    about,
    '',
    bold('Options'),
    terminal.table(rows),
    '',
    bold('Examples'),
    ...examples.flatMap(([line, what]) => [`  ${dim(`# ${what}`)}`, `  ${line}`]),
  ].join('\n')
}

/** It failed, and its reader knows why. */
export class SaidAlready extends Error {
  constructor() {
    super('what went wrong was said already')
    this.name = 'SaidAlready'
  }
}

/** What was typed makes no sense: exit code 2, and a word about where to read more. */
export class UsageFault extends Error {
  readonly command: string | null
  constructor(message: string, command: string | null) {
    super(message)
    this.name = 'UsageFault'
    this.command = command
  }
}

type WrongInput = { readonly member: string; readonly detail: string }

/** It made sense and was refused, or could not be done: exit code 1. The message says what to do next. */
export class CommandRefusal extends Error {
  readonly code: string
  /** The members of the request that the shop does not take, and why. */
  readonly wrong: readonly WrongInput[]
  constructor(code: string, message: string, options?: ErrorOptions & { readonly wrong?: readonly WrongInput[] }) {
    super(message, options)
    this.name = 'Refusal'
    this.code = code
    this.wrong = options?.wrong ?? []
  }
}
