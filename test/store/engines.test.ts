import { after, before, describe } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { databaseCases } from '../../src/store/db.cases.ts'
import { jobsCases } from '../../src/store/jobs.cases.ts'
import { migrateCases } from '../../src/store/migrate.cases.ts'
import { engines, openStore, type TestStore } from '../support/database.ts'

/** A clock that never makes a test wait. */
const impatient = { ...systemClock, sleep: async () => {} }

for (const engine of engines) {
  describe(`the ${engine} engine`, () => {
    let store: TestStore
    before(async () => {
      store = await openStore(engine, { clock: impatient })
    })
    after(() => store.drop())

    describe('database', () => databaseCases(() => store))
    describe('migrations', () => migrateCases(() => store))
    describe('jobs', () => jobsCases(() => store))
  })
}
