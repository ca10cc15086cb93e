import { createHash } from 'node:crypto'
import { constants, cpSync, existsSync, globSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { systemClock } from '../../src/base/clock.ts'
import { systemRandom } from '../../src/base/id.ts'
import { silentLog } from '../../src/base/log.ts'
import { openDatabase } from '../../src/store/db.ts'
import { migrate } from '../../src/store/migrate.ts'
import { scratchFolder } from './scratch.ts'

const root = join(import.meta.dirname, '../..')

/** A folder with an empty, migrated database of the embedded engine. Copied, because making one takes 4 seconds. */
export async function createDataDir(): Promise<string> {
  leaveEngineAsItIs()
  const folder = scratchFolder('data')
  copyTree(await embeddedTemplate(), folder)
  return folder
}

/** The same for one test; removed after it. */
export async function dataDirFor(t: Pick<TestContext, 'after'>): Promise<string> {
  const dataDir = await createDataDir()
  t.after(() => rmSync(dataDir, { recursive: true, force: true }))
  return dataDir
}

/** To optimise the engine takes longer than any test runs it. Other WebAssembly of this process is optimised as far as it has come. */
function leaveEngineAsItIs(): void {
  setFlagsFromString('--no-wasm-dynamic-tiering')
  setFlagsFromString('--no-wasm-tier-up')
}

/** The template stays in /tmp from one run to the next; its name changes with the engine and the migrations. */
export async function embeddedTemplate(): Promise<string> {
  const template = join(tmpdir(), `sutler-template-${userInfo().uid}-${hashOfEngine()}`)
  if (existsSync(template)) return template
  const draft = mkdtempSync(`${template}-`)
  const options = { log: silentLog, clock: systemClock, random: systemRandom }
  const db = await openDatabase({ ...options, dataDir: draft, roomBytesMin: 2 << 20 })
  await migrate(db)
  await db.close()
  // Each copy makes its own: how much a test sets aside may be what it is about.
  rmSync(join(draft, 'reserve'), { force: true })
  try {
    renameSync(draft, template)
  } catch (error) {
    // Another test process was faster.
    rmSync(draft, { recursive: true })
    if (!existsSync(template)) throw error
  }
  return template
}

export function copyTree(from: string, to: string): void {
  cpSync(from, to, { recursive: true, mode: constants.COPYFILE_FICLONE })
}

function hashOfEngine(): string {
  const hash = createHash('sha256')
  const files = [
    'test/support/embedded.ts',
    'src/store/embedded/engine.ts',
    'src/store/migrations/*.sql',
    'node_modules/@electric-sql/pglite/package.json',
  ]
  for (const file of globSync(files, { cwd: root }).sort()) hash.update(readFileSync(join(root, file)))
  return hash.digest('hex').slice(0, 12)
}
