import assert from 'node:assert/strict'
import { systemRandom } from '../../src/base/id.ts'
import type { Database } from '../../src/store/db.ts'
import { lastPosition, readEvents } from '../../src/store/events.ts'
import { webhookBacklog } from '../../src/store/webhooks/deliveries.ts'
import { insertEndpoint } from '../../src/store/webhooks/endpoints.ts'
import { pumpEvents } from '../../src/webhooks/pump.ts'
import { newWebhookSecret } from '../../src/webhooks/sign.ts'
import { until } from '../support/until.ts'
import { startReceiver } from '../webhooks/receiver.ts'

/** Hears, as an operator's receiver does, of everything that happens in shops that are killed again and again. */
export type Mailbox = {
  /** To be called while a shop is alive. Everything that happened has arrived, each object's changes in their order. */
  judge(): Promise<{ readonly events: number; readonly repeated: number }>
  stop(): Promise<void>
}

const EVENTS_MAX = 1_000_000

export async function openMailbox(db: Database): Promise<Mailbox> {
  const receiver = await startReceiver()
  await pumpEvents(db)
  const since = await lastPosition(db)
  const secret = newWebhookSecret(systemRandom)
  await insertEndpoint(db, { id: 'whk_mailbox', url: receiver.url, description: '', eventTypes: null, secret })
  return {
    async judge() {
      // The leases of the dead run out.
      await db.query(`update jobs set run_at = now(), lease = null where kind = 'webhook/whk_mailbox'`)
      await until(async () => {
        await pumpEvents(db)
        return (await webhookBacklog(db)).every(({ pending }) => pending === 0)
      })
      const events = await readEvents(db, since, EVENTS_MAX)
      const firsts = new Map(receiver.messages.toReversed().map((message) => [message.id, message]))
      assert.deepEqual(new Set(firsts.keys()), new Set(events.map(({ id }) => id)), 'every event arrived')
      const arrival = new Map(receiver.messages.toReversed().map(({ id }, index) => [id, -index]))
      for (const own of Map.groupBy(events, ({ subject }) => subject).values())
        for (const [n, { id, subject, sequence }] of own.entries()) {
          assert.equal(sequence, own[0]!.sequence + n, `${subject} has a gap`)
          if (n > 0) assert.ok(arrival.get(own[n - 1]!.id)! < arrival.get(id)!, `${subject} came in another order`)
        }
      return { events: events.length, repeated: receiver.messages.length - events.length }
    },
    stop: receiver.stop,
  }
}
