import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestEvent } from 'node:test/reporters'

/** How long each test file took when somebody last asked for it (`npm test -- --seconds`). Only how they compare matters. */
const FILE = join(import.meta.dirname, '../seconds.json')
/** What nobody has measured yet is as long as most are. */
const USUAL = 3

const known = JSON.parse(readFileSync(FILE, 'utf8')) as Readonly<Record<string, number>>

export const secondsOf = (file: string): number => known[file] ?? USUAL

/** A reporter of `node --test` that says nothing and writes them down. */
export default async function* noteSeconds(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const seen: Record<string, number> = {}
  for await (const { type, data } of events) {
    if (type === 'test:pass' && data.name.endsWith('.test.ts'))
      seen[data.name] = Math.round(data.details.duration_ms / 100) / 10
  }
  const sorted = Object.entries({ ...known, ...seen }).toSorted(([one], [other]) => (one < other ? -1 : 1))
  writeFileSync(FILE, `${JSON.stringify(Object.fromEntries(sorted), null, 2)}\n`)
  yield ''
}
