import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

/** A folder that is this process's alone until it lets go. */
export type DataFolder = { readonly path: string; release(): void }

const SQLITE_BUSY = 5

/**
 * Makes the folder if it is not there, and keeps every other process out of it, and a second claim of this one too: two engines on one
 * folder destroy each other's commits without an error. The lock is a file lock that the kernel holds for SQLite. It ends with the
 * process, however that dies and whether or not anybody has noticed the death yet; there is no process id that could be out of date.
 */
export function claimFolder(folder: string): DataFolder {
  const path = resolve(folder)
  makeFolder(path)
  closeToOthers(path)
  try {
    const claim = claimFile(join(path, 'lock'))
    if (claim) return { path, release: claim.release }
  } catch (cause) {
    const { message } = cause as Error
    throw new FolderFault('data_dir_unusable', `the data folder ${path} cannot be written: ${message}`, cause)
  }
  throw new FolderFault(
    'data_dir_locked',
    `the data folder ${path} is in use by another process; stop that one, or choose another folder`,
  )
}

/** The lock itself, on a file that is there for nothing else. Null when somebody has it. */
export function claimFile(path: string): { release(): void } | null {
  const file = new DatabaseSync(path)
  try {
    file.exec('pragma busy_timeout = 0')
    file.exec('pragma locking_mode = exclusive')
    file.exec('begin exclusive')
  } catch (cause) {
    file.close()
    if ((cause as { errcode?: number }).errcode !== SQLITE_BUSY) throw cause
    return null
  }
  return { release: () => file.close() }
}

/** The folder is there after a power cut too. */
function makeFolder(path: string): void {
  try {
    const firstMade = mkdirSync(path, { recursive: true, mode: 0o700 })
    for (let made = path; firstMade && made.startsWith(firstMade); made = dirname(made)) syncPath(dirname(made))
  } catch (cause) {
    const { message } = cause as Error
    throw new FolderFault('data_dir_unusable', `the data folder ${path} cannot be made: ${message}`, cause)
  }
}

const FOR_OTHERS = 0o077

/**
 * Whoever can write in the folder can write orders and prices, and whoever can read it reads who bought what. It may be older than we are: a
 * mount, or a folder of an image. Ours to close is only an empty one or one that we have claimed before; a wrong path may name a home or /tmp.
 */
function closeToOthers(path: string): void {
  const isOpen = () => process.getuid !== undefined && (statSync(path).mode & FOR_OTHERS) !== 0
  if (!isOpen()) return
  try {
    const names = readdirSync(path)
    const isOurs = statSync(path).uid === process.getuid?.() && (names.length === 0 || names.includes('lock'))
    if (isOurs) chmodSync(path, 0o700)
  } catch (cause) {
    throw new FolderFault('data_dir_unusable', openToOthers(path), cause)
  }
  if (isOpen()) throw new FolderFault('data_dir_unusable', openToOthers(path))
}

function openToOthers(path: string): string {
  return `other users of this machine can open the data folder ${path}; run chmod 700 on it as its owner, or choose a new folder`
}

/** What was written to this file or folder is on the disk. */
export function syncPath(path: string): void {
  const file = openSync(path, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

/** Why a folder cannot be had. Worth showing to an operator as it is. */
export class FolderFault extends Error {
  readonly code: 'data_dir_locked' | 'data_dir_unusable'
  constructor(code: FolderFault['code'], message: string, cause?: unknown) {
    super(message, { cause })
    this.name = 'FolderFault'
    this.code = code
  }
}
