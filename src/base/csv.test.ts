import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from './csv.ts'

test('cells are separated by commas, and quoted where they hold what would end them', () => {
  assert.equal(csvLine(['a', 1, null, 'b,c', 'd"e', 'f\ng']), 'a,1,,"b,c","d""e","f\ng"\r\n')
})

test('nothing that begins like a formula is left one', () => {
  for (const formula of ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', ' =1', '\r=1'])
    assert.match(csvLine([formula]), /^"?'/, JSON.stringify(formula))
  assert.equal(csvLine(['=HYPERLINK("http://x")']), `"'=HYPERLINK(""http://x"")"\r\n`)
  assert.equal(csvLine(['1.50', '0xabc', 'Ada=']), '1.50,0xabc,Ada=\r\n')
})
