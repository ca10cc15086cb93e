import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { systemRandom } from '../../src/base/id.ts'
import { newWebhookSecret, signedHeaders } from '../../src/webhooks/sign.ts'
import { startChild } from '../support/child.ts'

test('the sample receiver takes what the shop signed, once, and refuses everything else', async (context) => {
  const [secret, next] = [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)]
  const script = join(import.meta.dirname, '../../examples/receive-webhook.ts')
  const child = startChild(script, [], { test: context, env: { PORT: '0', SUTLER_WEBHOOK_SECRET: secret.reveal() } })
  const [, port] = /listening on (\d+)/.exec((await child.line())!)!
  const body = JSON.stringify({
    type: 'order.confirmed',
    timestamp: '',
    data: { orderId: 'ord_1', status: 'confirmed', sequence: 3 },
  })
  const sent = { id: 'evt_1', body, atMs: Date.now() }
  const send = async (headers: Record<string, string>, text = body) =>
    (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body: text })).status

  const signed = signedHeaders(sent, [secret])
  assert.equal(await send(signed), 204)
  assert.equal(await send(signedHeaders(sent, [next, secret])), 204, 'a rotation is under way')
  assert.equal(await send(signed, body.replace('ord_1', 'ord_2')), 401)
  assert.equal(await send({ ...signed, 'webhook-id': 'evt_2' }), 401)
  assert.equal(await send(signedHeaders(sent, [next])), 401)
  assert.equal(
    await send(signedHeaders({ ...sent, atMs: Date.now() - 600_000 }, [secret])),
    401,
    'an old one, sent again',
  )
  assert.equal(await send({}), 401)
  assert.equal(await child.line(), '3 order.confirmed ord_1 confirmed')
  await child.kill('SIGTERM')
  assert.deepEqual(await child.rest(), [], 'what came twice was done once')
})
