import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { VERSION } from '../src/base/version.ts'

export type Figure = { readonly what: string; readonly value: number; readonly unit: string; readonly goal?: number }

/** One thing by another, of the same run. A ratio without a bound is there to be known. */
export type Ratio = {
  readonly what: string
  readonly value: number
  readonly atMost?: number
  readonly atLeast?: number
  /** What we want it to come to. A bound that is missed is a fault; a goal that is missed is work. */
  readonly goal?: number
  /** The same where more is better. */
  readonly goalAtLeast?: number
}

/** Bars beside each other, for what is too much for a table. */
export type Plot = {
  readonly title: string
  readonly unit: string
  readonly bars: readonly {
    readonly group: string
    readonly what: string
    readonly half: number
    readonly most: number
  }[]
}

export type Report = {
  readonly title: string
  readonly figures: readonly Figure[]
  readonly ratios: readonly Ratio[]
  readonly plots?: readonly Plot[]
}

/**
 * A table for people, with what the same thing came to in the last run of another version or, if there is none, of this one;
 * `bench/results` for machines, by version; and exit code 1 when a bound is missed.
 */
export function report(reports: readonly Report[]): void {
  const before = earlierRun()
  if (before) console.log(`\nBefore: ${before.version}, ${before.at}`)
  for (const one of reports) print(one, before)
  const missed = reports.flatMap(({ ratios }) => ratios).filter((ratio) => !isWithin(ratio))
  console.log(missed.length === 0 ? 'No bound is missed.' : `Missed: ${missed.map(({ what }) => what).join('; ')}.`)
  mkdirSync(RESULTS, { recursive: true })
  write(LATEST, reports)
  write(fileOf(VERSION), [...untouched(reports), ...reports])
  console.log(`Written to ${LATEST} and ${fileOf(VERSION)}`)
  process.exitCode = missed.length === 0 ? 0 : 1
}

function write(file: string, reports: readonly Report[]): void {
  writeFileSync(file, `${JSON.stringify(asDocument(reports), null, 2)}\n`)
}

/** What this version came to in the parts that were not run now: a run of some parts does not throw the others away. */
function untouched(reports: readonly Report[]): readonly Report[] {
  const [file] = globSync(fileOf(VERSION))
  if (file === undefined) return []
  const before = JSON.parse(readFileSync(file, 'utf8')) as Run
  return before.reports.filter(({ title }) => !reports.some((report) => report.title === title))
}

function isWithin({ value, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Ratio): boolean {
  return value <= atMost && value >= atLeast
}

function print({ title, figures, ratios, plots = [] }: Report, before: Run | null): void {
  const width = Math.max(...[...figures, ...ratios].map(({ what }) => what.length))
  const was = (what: string, digits: number) => {
    const value = before?.reports.flatMap((one) => [...one.figures, ...one.ratios]).find((one) => one.what === what)
    return (value?.value.toFixed(digits) ?? '').padStart(8)
  }
  console.log(`\n${title.padEnd(width + 2)}       now    before`)
  for (const figure of figures) {
    const { what, value, unit } = figure
    console.log(`  ${what.padEnd(width)}  ${value.toFixed(0).padStart(8)}  ${was(what, 0)}  ${unit}${reached(figure)}`)
  }
  for (const ratio of ratios) {
    const { what, value } = ratio
    console.log(
      `  ${what.padEnd(width)}  ${value.toFixed(2).padStart(8)}  ${was(what, 2)}  ${verdict(ratio)}${reached(ratio)}`,
    )
  }
  for (const plot of plots) draw(plot)
}

const PLOT_COLUMNS = 60

function draw({ title, unit, bars }: Plot): void {
  const widest = Math.max(...bars.map(({ most }) => most))
  const columns = (value: number) => Math.max(1, Math.round((value / widest) * PLOT_COLUMNS))
  const width = (of: 'group' | 'what') => Math.max(...bars.map((bar) => bar[of].length))
  console.log(`\n  ${title}`)
  for (const [index, { group, what, half, most }] of bars.entries()) {
    const heading = bars[index - 1]?.group === group ? '' : group
    const bar = '█'.repeat(columns(half)).padEnd(columns(most), '░').padEnd(PLOT_COLUMNS)
    const numbers = `${half.toFixed(0)} and ${most.toFixed(0)} ${unit}`
    console.log(`  ${heading.padEnd(width('group'))}  ${what.padEnd(width('what'))}  ${bar}  ${numbers}`)
  }
}

function reached({ value, goal, goalAtLeast }: Pick<Ratio, 'value' | 'goal' | 'goalAtLeast'>): string {
  const told = (bound: number, isReached: boolean) => `, goal ${bound}: ${isReached ? 'reached' : 'not yet'}`
  if (goal !== undefined) return told(goal, value <= goal)
  return goalAtLeast === undefined ? '' : told(goalAtLeast, value >= goalAtLeast)
}

type Run = { readonly version: string; readonly at: string; readonly reports: readonly Report[] }

const RESULTS = join(import.meta.dirname, 'results')
const LATEST = join(RESULTS, 'latest.json')
const fileOf = (version: string) => join(RESULTS, `${version}.json`)

/** What a slower change is seen by. */
function earlierRun(): Run | null {
  const runs = globSync(join(RESULTS, '*.json'))
    .map((file): Run => ({ version: 'unknown', ...JSON.parse(readFileSync(file, 'utf8')) }))
    .toSorted((a, b) => (a.at < b.at ? -1 : 1))
  return runs.findLast(({ version }) => version !== VERSION) ?? runs.at(-1) ?? null
}

function verdict(ratio: Ratio): string {
  const { atMost, atLeast } = ratio
  if (atMost === undefined && atLeast === undefined) return '×'
  const bound = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`
  return `×, ${bound}: ${isWithin(ratio) ? 'kept' : 'MISSED'}`
}

function asDocument(reports: readonly Report[]) {
  return {
    version: VERSION,
    at: new Date().toISOString(),
    node: process.version,
    cpu: `${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`,
    reports: reports.map(({ ratios, ...rest }) => ({
      ...rest,
      ratios: ratios.map((ratio) => ({ ...ratio, isWithin: isWithin(ratio) })),
    })),
  }
}

/** `--rounds=3` and the like; what is not given keeps its default. */
export function numbersOf(args: readonly string[], names: readonly string[]): Readonly<Record<string, number>> {
  const { values } = parseArgs({
    args: [...args],
    options: Object.fromEntries(names.map((name) => [name, { type: 'string' as const }])),
  })
  return Object.fromEntries(
    Object.entries(values).map(([name, text]) => {
      const number = Number(text)
      if (!Number.isInteger(number) || number < 1) throw new Error(`--${name} is a whole number from 1`)
      return [name, number]
    }),
  )
}
