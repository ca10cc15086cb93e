import { openDatabase } from '../../../src/store/db.ts'
import { quiet } from '../../support/database.ts'
import { until } from '../../support/until.ts'
import { openPostOffice } from '../post-office.ts'

// A process that delivers webhooks until nothing is pending, and says so; or that stops dead at the n-th passing of a waypoint, says so,
// and waits to be killed.
const [place = '', receiver = '', waypoint = '', nth = '0'] = process.argv.slice(2)
const db = await openDatabase({ ...quiet, ...JSON.parse(place) })
let passed = 0
const office = openPostOffice(db, {
  async waypoint(name) {
    if (name !== waypoint || ++passed < Number(nth)) return
    console.log('reached')
    await new Promise(() => {})
  },
})
if ((await office.webhooks.list()).length === 0) {
  await office.add(receiver)
  await office.insert(2, 3)
}
// The leases of the one before run out.
await db.query(`update jobs set run_at = now(), lease = null where kind like 'webhook/%'`)
office.worker.lookAround()

const [endpoint] = await office.webhooks.list()
await until(async () => {
  const deliveries = await office.webhooks.deliveries(endpoint!.id, { limit: 100 })
  return deliveries.length === 6 && deliveries.every(({ state }) => state === 'delivered')
})
console.log('done')
await office.worker.stop()
await db.close()
