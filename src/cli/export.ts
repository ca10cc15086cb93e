import { type FileHandle, open } from 'node:fs/promises'
import { systemClock } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import { loadConfig } from '../config/load.ts'
import type { Environment } from '../config/options.ts'
import { planExport, type RetainedThing, retainedThings } from '../domain/retention.ts'
import type { Database } from '../store/db.ts'
import { exportLine, readExport } from '../store/retention/export.ts'
import { type Command, type CommandCall, CommandRefusal, operatorOptions } from './command.ts'
import { operatorClient, type ShopClient, ShopSilent } from './shop-client.ts'
import { storeConfigOf, withStore } from './store-access.ts'

const DAYS = 7
const PAGE = 500

export const exportOld: Command = {
  args: '<file>',
  about:
    'Writes what will be deleted within the next days as JSON lines: {"kind","row"}, the row as the store has it. How long things are kept is\nin .env (SUTLER_KEEP_…). With SUTLER_KEEP_UNTIL_EXPORTED=true nothing is deleted that was not exported, so run this from time to time.\nThe file must not exist yet. When it is complete and on the disk the shop is told; a file that was cut off counts for nothing.',
  options: {
    ...operatorOptions,
    days: { about: `how far to look ahead (${DAYS})`, value: 'n' },
  },
  examples: [['sutler export old-2026-07.jsonl', 'before anything of it goes'] as const],
  async run(call) {
    const [path = ''] = call.args
    const days = Number(call.option('days') ?? DAYS)
    if (!Number.isInteger(days) || days < 0 || days > 365)
      throw new CommandRefusal('invalid_days', '--days is a number of days, from 0 to 365')
    const file = await open(path, 'wx')
    try {
      const { source, lines } = await write(call, file, days)
      return {
        json: { file: path, lines, toldShop: source === 'shop' },
        text: `${lines} lines are in ${path}${source === 'shop' ? '' : '; the shop does not run, so it was not told: what is in there is exported again next time'}`,
      }
    } finally {
      await file.close()
    }
  },
}

type Written = { readonly source: 'shop' | 'store'; readonly lines: number }

async function write(call: CommandCall, file: FileHandle, days: number): Promise<Written> {
  try {
    return { source: 'shop', lines: await fromShop(operatorClient(call), file, days) }
  } catch (error) {
    if (!(error instanceof ShopSilent) || call.option('url') !== undefined) throw error
    return withStore(storeConfigOf(call.env), async (database) => ({
      source: 'store',
      lines: await fromStore(database, file, call.env, days),
    }))
  }
}

async function fromShop(client: ShopClient, file: FileHandle, days: number): Promise<number> {
  const plan = await client.get<{ asOf: string; at: string; before: Record<RetainedThing, string | null> }>(
    `/operator/export?days=${days}`,
  )
  let lines = 0
  for (const kind of retainedThings) {
    const before = plan.before[kind]
    if (before === null) continue
    lines += await writeAll(file, kind, (after) => {
      const query = new URLSearchParams({ before, ...(after === null ? {} : { after }) })
      return client.get<Page>(`/operator/export/${kind}?${query}`)
    })
  }
  // Only what survives a power cut may be deleted elsewhere.
  await file.sync()
  await client.post('/operator/export', { asOf: plan.asOf, at: plan.at })
  return lines
}

async function fromStore(database: Database, file: FileHandle, env: Environment, days: number): Promise<number> {
  const loaded = loadConfig(env)
  const { retention } = loaded.mode === 'sandbox' ? loaded.common.operations : loaded.config.operations
  const { before } = planExport(retention.keep, systemClock.now(), days)
  let lines = 0
  for (const kind of retainedThings) {
    const moment = before[kind]
    if (moment !== null)
      lines += await writeAll(file, kind, (after) => readExport(database, kind, { before: moment, after, limit: PAGE }))
  }
  await file.sync()
  return lines
}

type Page = { readonly rows: readonly JsonObject[]; readonly next: string | null }

async function writeAll(
  file: FileHandle,
  kind: RetainedThing,
  read: (after: string | null) => Promise<Page>,
): Promise<number> {
  let lines = 0
  for (let after: string | null = null; ; ) {
    const page: Page = await read(after)
    await file.write(page.rows.map((row) => exportLine(kind, row)).join(''))
    lines += page.rows.length
    if (page.next === null) return lines
    after = page.next
  }
}
