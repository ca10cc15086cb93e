import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A file system of its own for a test, in `folder` until `unmount`. */
export type Mounted = { readonly folder: string; unmount(): void }

/** A small disk that can be filled. Null where this process may not mount. */
export function mountMemory(megabytes: number): Mounted | null {
  return mount(['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs'])
}

/** A disk whose device is a file; a copy of the file is what a power cut would leave. Null where we may not mount. */
export function mountImage(image: string): Mounted | null {
  // The journal waits a minute instead of 5 seconds, so that it does not move while the image is being copied.
  return mount(['-o', 'loop,commit=60', image])
}

/** Makes an empty ext4 in a file; false where the tools are missing. */
export function makeImage(image: string, megabytes: number): boolean {
  return run('truncate', ['-s', `${megabytes}M`, image]) && run('mkfs.ext4', ['-q', '-F', image])
}

function mount(args: readonly string[]): Mounted | null {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-mount-'))
  if (!run('mount', [...args, folder])) {
    rmSync(folder, { recursive: true })
    return null
  }
  mkdirSync(join(folder, 'data'), { recursive: true })
  return {
    folder,
    unmount() {
      // Lazily, if a process of a failed test still holds it.
      if (!run('umount', [folder]) && !run('umount', ['-l', folder])) throw new Error(`cannot unmount ${folder}`)
      rmSync(folder, { recursive: true })
    },
  }
}

function run(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0
}
