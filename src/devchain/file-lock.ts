import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { DevChainError } from './errors.ts'

/**
 * Keeps a second chain off the file. The lock names its holder by process id and, where the system tells it, by the time that
 * process started, so that a lock left by `kill -9` is not taken for that of a stranger who got the same id.
 * Returns the function that releases it.
 */
export function lockFile(path: string): () => void {
  const lock = `${path}.lock`
  const me = describeProcess(process.pid)
  if (!tryCreate(lock, me)) {
    const holder = readFileSync(lock, 'utf8')
    if (isRunning(holder)) throw locked(path, `is in use by process ${Number.parseInt(holder, 10)}`)
    rmSync(lock, { force: true })
    if (!tryCreate(lock, me)) throw locked(path, 'was taken by another process just now')
  }
  return () => rmSync(lock, { force: true })
}

function tryCreate(lock: string, holder: string): boolean {
  try {
    writeFileSync(lock, holder, { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw new DevChainError(
      'devchain_unwritable',
      `The dev chain cannot write ${lock}: ${(error as Error).message}.`,
      error,
    )
  }
}

function isRunning(holder: string): boolean {
  const pid = Number.parseInt(holder, 10)
  if (!Number.isSafeInteger(pid) || pid <= 0 || !exists(pid)) return false
  // Without a start time our own id proves nothing: in a container the next process often gets the id of the last one.
  return pid === process.pid && startTime(pid) === '' ? false : describeProcess(pid) === holder
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function describeProcess(pid: number): string {
  return `${pid} ${startTime(pid)}`
}

/** In clock ticks since the machine started; empty where there is no /proc. */
function startTime(pid: number): string {
  try {
    // The program's name, in parentheses, may hold spaces; the start time is the 20th field after it.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]!
  } catch {
    return ''
  }
}

function locked(path: string, what: string): DevChainError {
  return new DevChainError(
    'devchain_locked',
    `The dev chain ${path} ${what}. Stop that process, or use another data folder.`,
  )
}
