import { existsSync, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** What the stores of a whole run take at once, many times over. */
const ROOM_BYTES_MIN = 4 * 2 ** 30

/** A folder for a store that lives as long as its test: in memory where there is plenty, because a disk's books about files cost more than the files. */
export function scratchFolder(name: string): string {
  return mkdtempSync(join(isRoomy(MEMORY) ? MEMORY : tmpdir(), `sutler-${name}-`))
}

function isRoomy(folder: string): boolean {
  if (!existsSync(folder)) return false
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize >= ROOM_BYTES_MIN
}
