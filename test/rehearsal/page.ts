import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../cli/sutler.ts'

// What the pages of docs/operating/ tell people to type.

const pages = globSync('docs/operating/*.md', { cwd: root })
  .sort()
  .map((file) => readFileSync(join(root, file), 'utf8'))

/** The command blocks of a section, as they stand. */
export function blocksOf(heading: string): readonly string[] {
  const sections = pages.flatMap((page) => page.split('\n## ').slice(1))
  const found = sections.filter((section) => section.startsWith(`${heading}\n`))
  if (found.length !== 1) throw new Error(`docs/operating/ has ${found.length} sections "${heading}"`)
  return [...found[0]!.matchAll(/```sh\n(.*?)```/gs)].map(([, block]) => block!)
}

/** The one block of a section that holds these words. */
export function blockWith(heading: string, words: string): string {
  const found = blocksOf(heading).filter((block) => block.includes(words))
  if (found.length !== 1) throw new Error(`"${heading}" has ${found.length} blocks with "${words}"`)
  return found[0]!
}

/** One line of the pages. */
export function lineWith(words: string): string {
  const found = pages.flatMap((page) => page.split('\n')).filter((line) => line.startsWith(words))
  if (found.length !== 1) throw new Error(`docs/operating/ has ${found.length} lines that begin with "${words}"`)
  return found[0]!
}

/** Every variable that a block expects somebody to have set. */
export function variablesIn(block: string): readonly string[] {
  return [...new Set([...block.matchAll(/\$([A-Z][A-Z0-9_]*)/g)].map(([, name]) => name!))]
}
