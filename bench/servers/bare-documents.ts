// Hono answering texts that it has in memory: the least that serving a document can cost on it.
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { serveMeasured } from '../measured.ts'

/** Texts by their path. */
export type BareDocumentsOrder = Readonly<Record<string, string>>

await serveMeasured<BareDocumentsOrder>(async (documents) => {
  const app = new Hono()
  for (const [path, text] of Object.entries(documents))
    app.get(path, (c) => c.body(text, 200, { 'Content-Type': 'application/json' }))
  return new Promise<string>((resolve) => {
    serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) => resolve(`http://127.0.0.1:${port}`))
  })
})
