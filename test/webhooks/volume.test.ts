import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { openStore } from '../support/database.ts'
import { until } from '../support/until.ts'
import { openPostOffice } from './post-office.ts'

const EVENTS = Number(process.env['TEST_EVENTS'] ?? 300)
const CHANGES = 5
/** Tries come at once, and there are enough of them that nothing is given up by chance. */
const impatient = Array<number>(40).fill(0)

/** Takes seven of ten calls, and remembers of a hundred thousand messages no more than it needs to judge them. */
async function startUnreliableReceiver() {
  const taken = new Set<string>()
  const lastOf = new Map<string, number>()
  const disorder: string[] = []
  let calls = 0
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
    const id = String(incoming.headers['webhook-id'])
    calls++
    // Which calls fail is decided by their content and number, so that a run can be repeated.
    if (createHash('sha256').update(`${id} ${calls}`).digest()[0]! < 0.3 * 256) return outgoing.writeHead(503).end()
    const { orderId, sequence } = JSON.parse(Buffer.concat(chunks).toString('utf8')).data as {
      orderId: string
      sequence: number
    }
    const last = lastOf.get(orderId) ?? 0
    // A repetition may come late; the next change may not come early.
    if (sequence > last + 1) disorder.push(`${orderId}: ${sequence} came after ${last}`)
    lastOf.set(orderId, Math.max(last, sequence))
    taken.add(id)
    outgoing.writeHead(200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    taken,
    disorder,
    calls: () => calls,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test(`I13: ${EVENTS} events to two receivers that fail three of ten times, by two replicas: none lost, each object in order`, async (context) => {
  const store = await openStore('postgres')
  const receivers = await Promise.all([startUnreliableReceiver(), startUnreliableReceiver()])
  const offices = [store.db, await store.replica()].map((db) => openPostOffice(db, { retrySeconds: impatient }))
  context.after(async () => {
    await Promise.all(offices.map(({ worker }) => worker.stop()))
    await Promise.all(receivers.map((receiver) => receiver.stop()))
    await store.drop()
  })
  const [office] = offices
  for (const { url } of receivers) await office!.add(url)
  const begun = performance.now()
  await office!.insert(EVENTS / CHANGES, CHANGES)
  await until(() => receivers.every(({ taken }) => taken.size === EVENTS))
  const seconds = (performance.now() - begun) / 1000
  for (const { disorder, calls } of receivers) {
    assert.deepEqual(disorder, [])
    assert.ok(calls() > EVENTS * 1.2, 'the receivers did fail')
  }
  await until(async () => {
    const { rows } = await store.db.query<{ state: string }>(`select distinct state from webhook_deliveries`)
    return rows.length === 1 && rows[0]!.state === 'delivered'
  })
  const calls = receivers.reduce((sum, receiver) => sum + receiver.calls(), 0)
  const rate = Math.round((2 * EVENTS) / seconds)
  context.diagnostic(`${2 * EVENTS} deliveries in ${Math.round(seconds)} s (${rate}/s), ${calls} calls, lost 0`)
})
