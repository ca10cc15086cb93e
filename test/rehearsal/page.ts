import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../cli/sutler.ts'

// What docs/operating.md tells people to type.

const page = readFileSync(join(root, 'docs/operating.md'), 'utf8')

/** The command blocks of a section, as they stand. */
export function blocksOf(heading: string): readonly string[] {
  const start = page.indexOf(`\n## ${heading}\n`)
  if (start < 0) throw new Error(`docs/operating.md has no section "${heading}"`)
  const end = page.indexOf('\n## ', start + 1)
  return [...page.slice(start, end).matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!)
}

/** The one block of a section that holds these words. */
export function blockWith(heading: string, words: string): string {
  const found = blocksOf(heading).filter((block) => block.includes(words))
  if (found.length !== 1) throw new Error(`"${heading}" has ${found.length} blocks with "${words}"`)
  return found[0]!
}

/** One line of the page. */
export function lineWith(words: string): string {
  const found = page.split('\n').filter((line) => line.startsWith(words))
  if (found.length !== 1) throw new Error(`docs/operating.md has ${found.length} lines that begin with "${words}"`)
  return found[0]!
}

/** Every variable that a block expects somebody to have set. */
export function variablesIn(block: string): readonly string[] {
  return [...new Set([...block.matchAll(/\$([A-Z][A-Z0-9_]*)/g)].map(([, name]) => name!))]
}
