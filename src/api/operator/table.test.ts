import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tableOf } from './table.ts'

test('a table has every page, and a cell for whatever a row has', async () => {
  const pages = [
    { rows: [{ id: 'a', n: 1, parts: ['x'], none: null }], next: '1' },
    { rows: [], next: '2' },
    { rows: [{ id: '=b', n: 2, more: true }], next: null },
  ]
  const asked: (string | undefined)[] = []
  const table = await tableOf(
    ['id', 'n', 'parts', 'none'],
    async (cursor) => {
      asked.push(cursor)
      return pages[Number(cursor)]!
    },
    '0',
  )
  let text = ''
  for await (const piece of table) text += piece
  assert.equal(text, `"id","n","parts","none"\r\n"a","1","[""x""]",""\r\n"'=b","2","",""\r\n`)
  assert.deepEqual(asked, ['0', '1', '2'])
})

test('what cannot be begun is refused before the first line', async () => {
  await assert.rejects(
    tableOf(['id'], async () => {
      throw new RangeError('no such place')
    }),
    RangeError,
  )
})
