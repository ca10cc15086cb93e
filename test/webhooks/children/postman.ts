import { openDatabase } from '../../../src/store/db.ts'
import { quiet } from '../../support/database.ts'
import { deliverAll, openPostOffice } from '../post-office.ts'

// A process that delivers webhooks until it stops dead at the n-th passing of a waypoint, says so, and waits to be killed.
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
await deliverAll(db, office)
