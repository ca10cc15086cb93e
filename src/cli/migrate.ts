import { systemClock } from '../base/clock.ts'
import { createLog } from '../base/log.ts'
import { isProblem } from '../base/problem.ts'
import { copyDatabase } from '../store/copy.ts'
import type { Database } from '../store/db.ts'
import { acceptStore } from '../store/history.ts'
import { migrate, pendingMigrations } from '../store/migrate.ts'
import { type Command, type CommandCall, CommandRefusal, UsageFault } from './command.ts'
import type { Output } from './output.ts'
import { openStore, storeConfigOf, withStore } from './store-access.ts'

export const migrateStore: Command = {
  args: '',
  about:
    'Brings the tables of the store up to date. A starting shop does this by itself unless SUTLER_DB_MIGRATE=check. With --copy-to\neverything in the store is copied to an empty PostgreSQL database, in one transaction: it is complete or untouched. Stop the shop first,\nand start it again with DATABASE_URL set to the new place.',
  options: {
    check: { about: 'only tell what is missing; exit code 1 when anything is' },
    'copy-to': { value: 'postgres://…', about: 'copy the store there' },
  },
  examples: [
    ['sutler migrate --check', 'before an upgrade'],
    ['sutler migrate --copy-to postgres://sutler@db/sutler', 'from the embedded store to PostgreSQL'],
  ],
  async run(call) {
    const target = call.option('copy-to')
    if (target !== undefined && !/^postgres(ql)?:\/\//.test(target))
      throw new UsageFault('--copy-to takes an address that begins with postgres://', 'migrate')
    return withStore(storeConfigOf(call.env), (database) => {
      if (call.flag('check')) return check(database)
      return target === undefined ? bringUpToDate(database) : copy(call, database, target)
    })
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

async function copy({ terminal }: CommandCall, source: Database, url: string): Promise<Output> {
  const target = await openStore({ url, dataDir: '' }).catch((cause) => {
    if (!isProblem(cause)) throw cause
    throw new CommandRefusal('target_unreachable', 'the database at --copy-to cannot be reached; nothing was copied', {
      cause,
    })
  })
  // The copy tells its log of each table; here that is the progress.
  const log = createLog({
    level: 'info',
    clock: systemClock,
    write(line) {
      const { message, table, rows } = JSON.parse(line) as { message: string; table?: string; rows?: number }
      terminal.note(terminal.style.dim(table === undefined ? message : `${table}: ${rows} rows`))
    },
  })
  try {
    await migrate(source)
    await migrate(target)
    const { tables, rows } = await copyDatabase(source, target, log)
    await acceptStore(target, { isComplete: true })
    return {
      json: { from: source.description, to: target.description, tables, rows },
      text: `${rows} rows of ${tables} tables are now in ${target.description}\nstart the shop with DATABASE_URL to use it`,
    }
  } finally {
    await target.close()
  }
}
