import { mkdirSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

export type Figure = { readonly what: string; readonly value: number; readonly unit: string }

/** One thing by another, of the same run. A ratio without a bound is there to be known. */
export type Ratio = {
  readonly what: string
  readonly value: number
  readonly atMost?: number
  readonly atLeast?: number
}

export type Report = { readonly title: string; readonly figures: readonly Figure[]; readonly ratios: readonly Ratio[] }

/** A table for people, `bench/results/latest.json` for machines, and exit code 1 when a bound is missed. */
export function report(reports: readonly Report[]): void {
  for (const one of reports) print(one)
  const missed = reports.flatMap(({ ratios }) => ratios).filter((ratio) => !isWithin(ratio))
  console.log(missed.length === 0 ? 'No bound is missed.' : `Missed: ${missed.map(({ what }) => what).join('; ')}.`)
  const file = join(import.meta.dirname, 'results', 'latest.json')
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, `${JSON.stringify(asDocument(reports), null, 2)}\n`)
  console.log(`Written to ${file}`)
  process.exitCode = missed.length === 0 ? 0 : 1
}

function isWithin({ value, atMost = Number.POSITIVE_INFINITY, atLeast = 0 }: Ratio): boolean {
  return value <= atMost && value >= atLeast
}

function print({ title, figures, ratios }: Report): void {
  const width = Math.max(...[...figures, ...ratios].map(({ what }) => what.length))
  console.log(`\n${title}`)
  for (const { what, value, unit } of figures)
    console.log(`  ${what.padEnd(width)}  ${value.toFixed(0).padStart(8)}  ${unit}`)
  for (const ratio of ratios)
    console.log(`  ${ratio.what.padEnd(width)}  ${ratio.value.toFixed(2).padStart(8)}  ${verdict(ratio)}`)
}

function verdict(ratio: Ratio): string {
  const { atMost, atLeast } = ratio
  if (atMost === undefined && atLeast === undefined) return '×'
  const bound = atMost === undefined ? `at least ${atLeast}` : `at most ${atMost}`
  return `×, ${bound}: ${isWithin(ratio) ? 'kept' : 'MISSED'}`
}

function asDocument(reports: readonly Report[]) {
  return {
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
