// A webhook receiver for Sutler, with nothing but Node. Register it with the shop, which answers with a secret:
//
//   curl -H "Authorization: Bearer $SUTLER_OPERATOR_TOKEN" -H 'Content-Type: application/json' \
//     -d '{"url":"http://localhost:4040/"}' http://localhost:4020/operator/webhooks
//   SUTLER_WEBHOOK_SECRET=whsec_… npx node examples/receive-webhook.ts
//
// (A shop calls receivers on its own machine only with SUTLER_WEBHOOK_LOOPBACK=true.) docs/webhooks.md is the contract.

import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

const { PORT = '4040', SUTLER_WEBHOOK_SECRET: secret = '' } = process.env
if (!secret.startsWith('whsec_')) throw new Error('set SUTLER_WEBHOOK_SECRET to the secret that the shop told you')

type Event = { type: string; timestamp: string; data: { sequence: number; orderId?: string; status?: string } }

const TOLERANCE_SECONDS = 300

/** The event, if the shop signed it within the last five minutes. The signature is over the bytes: verify first, parse afterwards. */
function verify(headers: IncomingHttpHeaders, body: string): { id: string; event: Event } | null {
  const [id, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) =>
    String(headers[name]),
  )
  const isFresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < TOLERANCE_SECONDS
  if (!isFresh) return null
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest()
  // During a rotation there are two signatures, and one of them is by the secret we know.
  const isOurs = signatures!.split(' ').some((signature) => {
    const given = Buffer.from(signature.replace(/^v1,/, ''), 'base64')
    return given.length === expected.length && timingSafeEqual(given, expected)
  })
  return isOurs ? { id: id!, event: JSON.parse(body) } : null
}

// A real receiver keeps these in its database, in the transaction that does the work.
const seen = new Set<string>()

const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const message = verify(request.headers, Buffer.concat(chunks).toString('utf8'))
  if (!message) return response.writeHead(401).end()
  const { id, event } = message
  // The same message may come twice; the changes of one object come in the order of their sequence.
  if (!seen.has(id))
    console.log(`${event.data.sequence} ${event.type} ${event.data.orderId ?? ''} ${event.data.status ?? ''}`)
  seen.add(id)
  // Anything but 2xx means: tell me again. Answer within ten seconds, and do long work later.
  response.writeHead(204).end()
})

server.listen(Number(PORT), () => console.log(`listening on ${(server.address() as AddressInfo).port}`))
