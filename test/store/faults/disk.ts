import fs from 'node:fs'

// Loaded with --import, also into the worker: a disk that breaks while a file named in FAULT_SYNC or FAULT_WRITE exists.

const { FAULT_SYNC, FAULT_WRITE } = process.env
const { fdatasyncSync, writeSync } = fs

fs.fdatasyncSync = (file) => {
  failWhile(FAULT_SYNC, 'EIO')
  return fdatasyncSync(file)
}

fs.writeSync = ((...args: Parameters<typeof writeSync>) => {
  failWhile(FAULT_WRITE, 'ENOSPC')
  return writeSync(...args)
}) as typeof writeSync

function failWhile(file: string | undefined, code: string): void {
  if (file && fs.existsSync(file)) throw Object.assign(new Error(`${code}: on purpose`), { code, syscall: 'test' })
}
