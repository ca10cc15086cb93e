import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { StoreFault } from '../fault.ts'

const SQLITE_BUSY = 5

/**
 * Keeps a second process out of the folder: two engines on one folder destroy each other's commits without an error. The lock
 * is a file lock held by the kernel for SQLite, so it ends with the process, however that dies; no stale pid file can stay.
 */
export function lockFolder(dataDir: string): { release(): void } {
  const file = openLockFile(dataDir)
  try {
    file.exec('pragma busy_timeout = 0')
    file.exec('pragma locking_mode = exclusive')
    file.exec('begin exclusive')
  } catch (cause) {
    file.close()
    if ((cause as { errcode?: number }).errcode !== SQLITE_BUSY) throw unusable(dataDir, cause)
    throw new StoreFault(
      'data_dir_locked',
      `the data folder ${dataDir} is in use by another process; stop that one, or choose another folder`,
      { cause },
    )
  }
  return { release: () => file.close() }
}

function openLockFile(dataDir: string): DatabaseSync {
  try {
    return new DatabaseSync(join(dataDir, 'lock'))
  } catch (cause) {
    throw unusable(dataDir, cause)
  }
}

function unusable(dataDir: string, cause: unknown): StoreFault {
  const { message } = cause as Error
  return new StoreFault('data_dir_unusable', `the data folder ${dataDir} cannot be written: ${message}`, { cause })
}
