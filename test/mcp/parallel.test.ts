import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startFixture } from './fixture.ts'
import { callTool } from './rpc.ts'

const CALLS = 1_000

let fixture: Awaited<ReturnType<typeof startFixture>>
before(async () => {
  fixture = await startFixture()
})
after(() => fixture.stop())

test('P-03: a thousand calls at once with the same JSON-RPC id each get their own answer', async () => {
  const answers = await Promise.all(
    Array.from({ length: CALLS }, async (_, index) => {
      const era = index % 2 === 0 ? 'legacy' : 'modern'
      const { content } = await callTool(fixture.url, 'echo', { index }, { id: 0, era })
      return JSON.parse(content[0]!.text).index
    }),
  )
  assert.deepEqual(answers, Array.from(answers.keys()))
})
