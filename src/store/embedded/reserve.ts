import { closeSync, openSync, statSync, unlinkSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { systemRandom } from '../../base/id.ts'

/** Disk space set aside for the hour when the disk is full. */
export type Reserve = {
  /** Sets the space aside; false when there is not enough of it. */
  fill(): boolean
  /** Gives the space to whoever just failed to write; false when it was spent before. */
  spend(): boolean
}

const BLOCK_BYTES = 1 << 20

/**
 * A file that is only there to be deleted. When the disk fills up new orders are refused, but orders that were paid for must
 * still be written to their end, even if somebody else's log took the last free block.
 */
export function reserveIn(dataDir: string, bytes: number): Reserve {
  const path = join(dataDir, 'reserve')
  return {
    fill: () => sizeOf(path) === bytes || write(path, bytes),
    spend: () => sizeOf(path) > 0 && remove(path),
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function write(path: string, bytes: number): boolean {
  // Random, so that a file system that compresses sets aside as much as we ask for.
  const block = systemRandom.bytes(BLOCK_BYTES)
  const file = openSync(path, 'w', 0o600)
  try {
    for (let left = bytes; left > 0; ) left -= writeSync(file, block, 0, Math.min(left, BLOCK_BYTES))
    return true
  } catch {
    return !remove(path)
  } finally {
    closeSync(file)
  }
}

function remove(path: string): true {
  unlinkSync(path)
  return true
}
