import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '../../../src/store/db.ts'
import { mppStranger, x402Stranger } from '../../operations/strangers.ts'
import { startShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'

// A round over a till sweeps old dust together, and then works on what else is old. Dust that grows old between these two is dust as well.

const isSweep = (text: string) => /update arrivals\s+set state = 'dust'/.test(text)

/** Whatever has arrived grows old just after a sweep. */
function growingOld(db: Database): Database {
  return {
    ...db,
    async query(sql, values) {
      const result = await db.query(sql, values)
      if (isSweep(typeof sql === 'string' ? sql : sql.text))
        await db.query(`update arrivals set found_at = found_at - interval '1 day'`)
      return result as never
    },
  }
}

for (const [name, come] of [
  ['x402', x402Stranger],
  ['mpp', mppStranger],
] as const)
  test(`E2: dust on ${name} that grows old between two looks of a round opens no case`, async (t) => {
    const shop = await startShop({ env: { SUTLER_RECONCILE_SECONDS: '1' }, wrapDatabase: growingOld })
    t.after(() => shop.stop())
    await (await come(shop)).give(1n)
    const states = async () => (await shop.store.db.query<{ state: string }>('select state from arrivals')).rows
    await until(async () => (await states()).some(({ state }) => state !== 'unclaimed'))
    assert.deepEqual(await states(), [{ state: 'dust' }])
    const { rows } = await shop.store.db.query(`select from events where type = 'payment.orphaned'`)
    assert.equal(rows.length, 0)
  })
