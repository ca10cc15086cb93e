import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { boundedFetch } from './bounded-fetch.ts'

test('each question of a command has a connection of its own: one that was kept may be gone when it is used', async () => {
  let connections = 0
  const server = createServer((_, response) => response.end('here'))
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  for (const method of ['GET', 'POST', 'GET']) assert.equal(await (await boundedFetch(url, { method })).text(), 'here')
  assert.equal(connections, 3)
  server.close()
})
