// The floor that everything is compared with: the platform's own server, and Hono on it, answering a short JSON document.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { serveMeasured } from '../measured.ts'

const ANSWER = JSON.stringify({ ok: true, detail: 'This is a short answer.' })

await serveMeasured<'node:http' | 'Hono'>(async (kind) => (kind === 'Hono' ? startHono() : startHttp()))

async function startHono(): Promise<string> {
  const app = new Hono()
  app.get('/', (c) => c.json(JSON.parse(ANSWER)))
  app.post('/', async (c) => {
    await c.req.json()
    return c.json(JSON.parse(ANSWER))
  })
  return new Promise((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(`http://127.0.0.1:${port}`))
  })
}

async function startHttp(): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    incoming.resume()
    incoming.once('end', () => outgoing.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
