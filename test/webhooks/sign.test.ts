import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { systemRandom } from '../../src/base/id.ts'
import { Secret } from '../../src/base/secret.ts'
import { newWebhookSecret, signedHeaders } from '../../src/webhooks/sign.ts'

const body = JSON.stringify({
  type: 'order.confirmed',
  timestamp: '2026-01-01T00:00:00.000Z',
  data: { orderId: 'ord_ß' },
})
const now = () => Math.floor(Date.now() / 1000) * 1000

test('W-02: the official verifier takes our signature, and refuses another body, id or time', () => {
  const secret = newWebhookSecret(systemRandom)
  const atMs = now()
  const headers = signedHeaders({ id: 'evt_1', body, atMs }, [secret])
  const verifier = new Webhook(secret.reveal())
  assert.deepEqual(verifier.verify(body, headers), JSON.parse(body))
  assert.throws(() => verifier.verify(body.replace('ord', 'orb'), headers))
  assert.throws(() => verifier.verify(body, { ...headers, 'webhook-id': 'evt_2' }))
  assert.throws(() => verifier.verify(body, { ...headers, 'webhook-timestamp': String(atMs / 1000 - 1) }))
  assert.throws(() => new Webhook(newWebhookSecret(systemRandom).reveal()).verify(body, headers))
})

test('W-02: the vector of the specification', () => {
  const secret = new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw')
  const headers = signedHeaders(
    { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', body: '{"test": 2432232314}', atMs: 1614265330_000 },
    [secret],
  )
  assert.equal(headers['webhook-signature'], 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

test('W-02: during a rotation either secret verifies', () => {
  const [fresh, old] = [newWebhookSecret(systemRandom), newWebhookSecret(systemRandom)]
  const headers = signedHeaders({ id: 'evt_1', body, atMs: now() }, [fresh, old])
  for (const secret of [fresh, old]) new Webhook(secret.reveal()).verify(body, headers)
})
