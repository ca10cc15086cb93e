import type { Database } from '../store/db.ts'
import { migrate, pendingMigrations } from '../store/migrate.ts'
import type { Command } from './command.ts'
import type { Output } from './output.ts'
import { storeConfigOf, withStore } from './store-access.ts'

export const migrateStore: Command = {
  args: '',
  about:
    'Brings the tables of the store up to date. A starting shop does this by itself unless SUTLER_DB_MIGRATE=check.',
  options: {
    check: { about: 'only tell what is missing; exit code 1 when anything is' },
  },
  examples: [['sutler migrate --check', 'before an upgrade']],
  async run(call) {
    return withStore(storeConfigOf(call.env), (database) =>
      call.flag('check') ? check(database) : bringUpToDate(database),
    )
  },
}

async function check(database: Database): Promise<Output> {
  const pending = await pendingMigrations(database)
  return {
    json: { store: database.description, pending: [...pending] },
    text: pending.length === 0 ? `${database.description} is up to date` : `missing: ${pending.join(', ')}`,
    isGood: pending.length === 0,
  }
}

async function bringUpToDate(database: Database): Promise<Output> {
  const applied = await migrate(database)
  return {
    json: { store: database.description, applied: [...applied] },
    text: `${database.description} is up to date${applied.length === 0 ? '' : `: ${applied.join(', ')}`}`,
  }
}
