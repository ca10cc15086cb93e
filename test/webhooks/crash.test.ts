import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openDatabase } from '../../src/store/db.ts'
import { startChild } from '../support/child.ts'
import { engines, openStore, quiet } from '../support/database.ts'
import { createDataDir } from '../support/embedded.ts'
import { deliverAll, openPostOffice } from './post-office.ts'
import { startReceiver } from './receiver.ts'

const script = join(import.meta.dirname, 'children/postman.ts')

/** An empty store that nobody has open. */
async function emptyStore(engine: (typeof engines)[number]) {
  if (engine === 'postgres') return openStore(engine)
  const dataDir = await createDataDir()
  return { place: { dataDir }, drop: async () => rmSync(dataDir, { recursive: true }) }
}

for (const engine of engines) {
  describe(`a process killed while it delivers, on the ${engine} engine`, () => {
    // A start of the embedded engine takes seconds; there one kill must do.
    const isEmbedded = engine === 'embedded'
    for (const waypoint of isEmbedded ? (['webhook.sent'] as const) : (['webhook.sent', 'webhook.recorded'] as const)) {
      test(`I13: kill -9 at ${waypoint}: nothing is lost, the order is kept, and only what was not written down comes twice`, async (context) => {
        const store = await emptyStore(engine)
        const receiver = await startReceiver()
        const place = JSON.stringify(store.place)
        for (const nth of isEmbedded ? ['3'] : ['1', '3']) {
          const child = startChild(script, [place, receiver.url, waypoint, nth], { test: context })
          assert.equal(await child.line(), 'reached')
          await child.kill('SIGKILL')
        }
        // The one that finds what the dead left is this process, which has loaded everything.
        const db = await openDatabase({ ...quiet, ...store.place })
        const office = openPostOffice(db)
        await deliverAll(db, office)
        await office.worker.stop()
        await db.close()
        const firsts = new Map(receiver.messages.toReversed().map((message) => [message.id, message]))
        assert.equal(firsts.size, 6, 'every event arrived')
        const inOrder = receiver.messages.filter((message) => firsts.get(message.id) === message)
        for (const own of Map.groupBy(inOrder, ({ event }) => event.data['orderId']).values())
          assert.deepEqual(
            own.map(({ event }) => event.data['sequence']),
            [1, 2, 3],
          )
        const repeated = receiver.messages.length - 6
        // Two queues are served at once, so up to two messages may be under way when the process dies.
        assert.ok(
          waypoint === 'webhook.sent' ? repeated >= 1 && repeated <= 4 : repeated <= 2,
          `${repeated} came twice`,
        )
        await receiver.stop()
        await store.drop()
      })
    }
  })
}
