import type { Json, JsonObject } from '../base/json.ts'
import { type Call, type Option, Refusal } from './command.ts'

/** An option that sets a member of a request. */
export type Said = Option & {
  readonly value: string
  readonly member: string
  /** A value that would do. */
  readonly example: string
  readonly read: (typed: string) => Json
}

/** What people type for what JSON has a null for. */
const NOTHING = ['none', 'endless', '']

export const typed = {
  text: (value: string): Json => value,
  optional: (value: string): Json => (NOTHING.includes(value) ? null : value),
  /** What is no number is left as it is: the shop says what is wrong with it. */
  whole: (value: string): Json => (NOTHING.includes(value) ? null : /^\d{1,15}$/.test(value) ? Number(value) : value),
}

export function membersOf(call: Call, options: Readonly<Record<string, Said>>): JsonObject {
  return Object.fromEntries(
    Object.entries(options).flatMap(([name, { member, read }]) => {
      const value = call.option(name)
      return value === undefined ? [] : [[member, read(value)]]
    }),
  )
}

/** What the shop does not take is told with the line that it would. */
export async function withLineThatWorks<Result>(
  call: Call,
  command: string,
  options: Readonly<Record<string, Said>>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof Refusal) || error.wrong.length === 0) throw error
    const line = lineThatWorks(call, command, options, error.wrong)
    if (line === null) throw error
    const message = error.message.replace(/\.? ?(Nothing was changed)?\.?$/, '').replace(/^\//, '--')
    throw new Refusal(error.code, `${message}; nothing was changed\n  this would work: ${line}`)
  }
}

function lineThatWorks(
  call: Call,
  command: string,
  options: Readonly<Record<string, Said>>,
  wrong: readonly string[],
): string | null {
  const known = Object.entries(options)
  if (!wrong.every((member) => known.some(([, option]) => option.member === member))) return null
  const words = known.flatMap(([name, { member, example }]) => {
    const value = wrong.includes(member) ? example : call.option(name)
    return value === undefined ? [] : [`--${name}`, quoted(value)]
  })
  return ['sutler', command, ...call.args.map(quoted), ...words].join(' ')
}

function quoted(word: string): string {
  return /^[\w.:/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
