import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { startFixture } from './fixture.ts'
import { type CallOptions, callTool } from './rpc.ts'

const CALLS = 1_000

let fixture: Awaited<ReturnType<typeof startFixture>>
before(async () => {
  fixture = await startFixture()
})
after(() => fixture.stop())

/** Waits for its connection as long as it takes: `fetch` gives up after ten seconds, which a thousand at once may need on a busy machine. */
const send: CallOptions['send'] = async (url, { method, headers, body }) => {
  const asked = request(url, { method, headers }).end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return new Response(await text(answer), { status: answer.statusCode! })
}

test('P-04: a thousand calls at once with the same JSON-RPC id each get their own answer', async () => {
  const answers = await Promise.all(
    Array.from({ length: CALLS }, async (_, index) => {
      const era = index % 2 === 0 ? 'legacy' : 'modern'
      const { content } = await callTool(fixture.url, 'echo', { index }, { id: 0, era, send })
      return JSON.parse(content[0]!.text).index
    }),
  )
  assert.deepEqual(answers, Array.from(answers.keys()))
})
