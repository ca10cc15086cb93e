import type { Json, JsonObject } from '../base/json.ts'
import { type CommandCall, CommandRefusal, type Option } from './command.ts'

/** An option that sets a member of a request. */
export type Said = Option & {
  readonly value: string
  readonly member: string
  /** A value that would do. */
  readonly example: string
  readonly read: (typed: string) => Json
}

/** One term: the member it sets, how it is read, and what is said of it. */
export function said(member: string, read: Said['read'], words: Pick<Said, 'value' | 'example' | 'about'>): Said {
  return { member, read, ...words }
}

/** What people type for what JSON has a null for. */
const NOTHING = ['none', 'endless', '']

export const typed = {
  text: (value: string): Json => value,
  optional: (value: string): Json => (NOTHING.includes(value) ? null : value),
  /** What is no number is left as it is: the shop says what is wrong with it. */
  whole: (value: string): Json => (NOTHING.includes(value) ? null : /^\d{1,15}$/.test(value) ? Number(value) : value),
}

/** When something is on sale, as items and lots have it. */
export const windowTerms: Readonly<Record<'opens' | 'closes', Said>> = {
  opens: said('opensAt', typed.optional, {
    value: 'time',
    example: '2026-12-24T18:00:00Z',
    about: 'when its sale begins; none: at once',
  }),
  closes: said('closesAt', typed.optional, {
    value: 'time',
    example: '2026-12-26T18:00:00Z',
    about: 'when its sale ends; none: never',
  }),
}

export function windowText({
  opensAt,
  closesAt,
}: {
  readonly opensAt: string | null
  readonly closesAt: string | null
}): string {
  if (opensAt === null && closesAt === null) return '–'
  const [from, to] = [opensAt, closesAt].map((time) => (time === null ? '…' : time.slice(0, 16)))
  return `${from} to ${to}`
}

export function membersOf(call: CommandCall, options: Readonly<Record<string, Said>>): JsonObject {
  return Object.fromEntries(
    Object.entries(options).flatMap(([name, { member, read }]) => {
      const value = call.option(name)
      return value === undefined ? [] : [[member, read(value)]]
    }),
  )
}

/** What the shop does not take is told with the line that it would. `others` are options that the line keeps as they were typed. */
export async function withLineThatWorks<Result>(
  call: CommandCall,
  { command, options, others }: { command: string; options: Readonly<Record<string, Said>>; others: readonly string[] },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof CommandRefusal) || error.wrong.length === 0) throw error
    const { wrong } = error
    const named = Object.entries(options)
    const places = wrong.map(({ member }) => named.find(([, option]) => option.member === member)?.[0])
    if (places.includes(undefined)) throw error
    const faults = wrong.map(({ detail }, index) => `--${places[index]} ${detail}`)
    const words = named.flatMap(([name, { example }]) => {
      const value = places.includes(name) ? example : call.option(name)
      return value === undefined ? [] : [`--${name}`, quoted(value)]
    })
    const kept = others.flatMap((name) => {
      const value = call.option(name)
      return value === undefined ? [] : [`--${name}`, quoted(value)]
    })
    const line = ['sutler', command, ...call.args.map(quoted), ...words, ...kept].join(' ')
    throw new CommandRefusal(error.code, `${faults.join('; ')}; nothing was changed\n  this would work: ${line}`)
  }
}

function quoted(word: string): string {
  return /^[\w.:/@%+-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
