import { spawnSync } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const VERSION_MIN = 15

/** The folder of the system's own PostgreSQL that has this program; null when there is none. */
export function systemBinaries(program = 'initdb'): string | null {
  const installed = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => versionOf(b) - versionOf(a))
  const onPath = (process.env['PATH'] ?? '').split(delimiter)
  const isGood = (bin: string) => existsSync(join(bin, program)) && versionOf(bin) >= VERSION_MIN
  return [...installed, ...onPath].find(isGood) ?? null
}

function versionOf(bin: string): number {
  const { stdout } = spawnSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' })
  return Number(/(\d+)/.exec(stdout ?? '')?.[1] ?? 0)
}
