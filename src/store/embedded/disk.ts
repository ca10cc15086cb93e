import { chmodSync, readdirSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { syncPath } from '../../base/data-folder.ts'
import type { Log } from '../../base/log.ts'
import { StoreFault } from '../fault.ts'

/** Makes sure that the folder lies on a disk that keeps what is synced and locked. */
export function judgeDisk(dataDir: string, log: Log): void {
  if (process.platform === 'linux') judgeFileSystem(dataDir, statfsSync(dataDir).type, log)
}

/** Refuses a network, warns of memory. `type` is what statfs(2) calls f_type. */
export function judgeFileSystem(dataDir: string, type: number, log: Log): void {
  const system = doubtful.get(type >>> 0)
  if (system?.isNetwork) {
    throw new StoreFault(
      'data_dir_network',
      `the data folder ${dataDir} lies on ${system.name}, where locks and fsync cannot be trusted; use a local disk, or PostgreSQL`,
    )
  }
  if (system) {
    log.warn('the data folder does not outlive this machine or container', { dataDir, fileSystem: system.name })
  }
}

// FUSE and 9p are left out: they may be a network or the local disk of a container, and cannot be told apart.
const doubtful = new Map<number, { readonly name: string; readonly isNetwork: boolean }>([
  [0x6969, { name: 'NFS', isNetwork: true }],
  [0x517b, { name: 'SMB', isNetwork: true }],
  [0xfe534d42, { name: 'SMB', isNetwork: true }],
  [0xff534d42, { name: 'CIFS', isNetwork: true }],
  [0x5346414f, { name: 'AFS', isNetwork: true }],
  [0x00c36400, { name: 'Ceph', isNetwork: true }],
  [0x01021994, { name: 'tmpfs', isNetwork: false }],
  [0x858458f6, { name: 'ramfs', isNetwork: false }],
  [0x794c7630, { name: 'overlayfs', isNetwork: false }],
])

export function freeBytes(dataDir: string): number {
  const { bavail, bsize } = statfsSync(dataDir)
  return bavail * bsize
}

/** After this the whole tree survives a power cut, names included. */
export function syncTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) syncTree(path)
    else syncPath(path)
  }
  syncPath(folder)
}

/** The packed files come with the modes of whoever packed them. */
export function closeTree(folder: string): void {
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true }))
    chmodSync(join(entry.parentPath, entry.name), entry.isDirectory() ? 0o700 : 0o600)
  chmodSync(folder, 0o700)
}
