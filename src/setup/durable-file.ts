import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { syncPath } from '../base/data-folder.ts'

type FileOptions = { readonly mode: number }

/** The whole text or the old one, whatever happens meanwhile; and on the disk before this returns. */
export function replaceFile(path: string, text: string, { mode }: FileOptions): void {
  const draft = writeDraft(path, text, mode)
  renameSync(draft, path)
  syncPath(dirname(path))
}

/** As above, and throws EEXIST when there is a file already: nothing is ever overwritten by it. */
export function createFile(path: string, text: string, { mode }: FileOptions): void {
  const draft = writeDraft(path, text, mode)
  try {
    linkSync(draft, path)
  } finally {
    rmSync(draft)
  }
  syncPath(dirname(path))
}

function writeDraft(path: string, text: string, mode: number): string {
  const draft = `${path}.${process.pid}.part`
  rmSync(draft, { force: true })
  const file = openSync(draft, 'wx', mode)
  try {
    writeSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return draft
}
