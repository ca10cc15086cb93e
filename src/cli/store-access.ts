import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/id.ts'
import { stderrLog } from '../base/log.ts'
import type { StoreConfig } from '../config/config.ts'
import { loadConfig } from '../config/load.ts'
import type { Environment } from '../config/options.ts'
import { type Database, openDatabase } from '../store/db.ts'
import { type CommandCall, CommandRefusal } from './command.ts'
import { operatorClient, type ShopClient, ShopSilent } from './shop-client.ts'

/**
 * The one rule of operator commands: everything goes through the running shop. When it does not run, what only reads is read from its
 * store; what changes anything waits until it runs, because only a running shop can finish what it begins.
 */
export async function readShopOrStore<Result>(
  call: CommandCall,
  fromShop: (client: ShopClient) => Promise<Result>,
  fromStore: (database: Database) => Promise<Result>,
): Promise<Result> {
  try {
    return await fromShop(operatorClient(call))
  } catch (error) {
    // Somebody who names a shop wants that one.
    if (!(error instanceof ShopSilent) || call.option('url') !== undefined) throw error
    call.terminal.note(call.terminal.style.dim('the shop is not running; this is what its store says'))
    return withStore(storeConfigOf(call.env), fromStore)
  }
}

export function storeConfigOf(env: Environment): StoreConfig {
  const loaded = loadConfig(env)
  return loaded.mode === 'sandbox' ? loaded.common.store : loaded.config.store
}

/** Opens a store that exists, and closes it again. */
export async function withStore<Result>(
  store: Pick<StoreConfig, 'url' | 'dataDir'>,
  work: (database: Database) => Promise<Result>,
): Promise<Result> {
  if (store.url === undefined && !existsSync(join(store.dataDir, 'pg')))
    throw new CommandRefusal('no_store', `there is no store in ${store.dataDir} yet; \`sutler start\` makes one`)
  const database = await openStore(store)
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}

function openStore({ url, dataDir }: Pick<StoreConfig, 'url' | 'dataDir'>): Promise<Database> {
  const place = { dataDir, poolSize: 2, ...(url === undefined ? {} : { url }) }
  // A tool says little: only what its user should look into.
  return openDatabase({ ...place, log: stderrLog('warn'), clock: systemClock, random: systemRandom })
}
