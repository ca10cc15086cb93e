import { readFileSync } from 'node:fs'

/** A file of `docs/` that comes with the program, because the shop serves it or prints from it. */
export function shipped(name: string): string {
  return readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')
}
