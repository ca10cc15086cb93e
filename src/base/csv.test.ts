import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CsvFault, parseCsv, printCsv } from './csv.ts'

const cells = (text: string) => parseCsv(text).map((record) => record.cells)

test('whatever a table holds comes back as it was, formulas and apostrophes among it', () => {
  const table = [
    ['id', 'name', 'description'],
    ['a', '=HYPERLINK("http://evil")', '+1'],
    ['b', '-2', '@sum'],
    ['c', "'=not a formula", "''+x"],
    ['d', 'two\r\nlines', 'with "quotes", commas; and semicolons'],
    ['e', ' spaces ', "O'Neil"],
    ['f', '\tTab', '€ 漢字 🗝'],
  ]
  assert.deepEqual(cells(printCsv(table)), table)
})

const EVIL = [
  '=1+1',
  '+1',
  '-1',
  '@a',
  ' =1',
  '\n=1',
  '\t=1',
  '\r=1',
  '"=1',
  "'=1",
  '＝1',
  '＋1',
  '－1',
  '＠a',
  '" "=1',
]

test('P-06: no printed cell begins with what a spreadsheet runs, whatever separates its cells', () => {
  const table = EVIL.flatMap((evil) =>
    ['', 'x,', 'x;', 'x|', 'x\t', 'x\n', 'x\r\n', ';'].map((before) => [before + evil]),
  )
  const printed = printCsv([...table, ['plain', '1.00']])
  assert.doesNotMatch(printed, /(?:^|[,;|\t\r\n])(?:(?![\t\r\n])[\s"])*[=+\-@＝＋－＠]/)
  assert.doesNotMatch(printed, /^"[\t\r\n]/m, 'some take a tab away, and what follows it for a formula')
  assert.ok(printed.endsWith('"plain","1.00"\r\n'), 'every cell is quoted')
  assert.deepEqual(cells(printed), [...table, ['plain', '1.00']], 'what is read again is what was printed')
})

test('whatever is printed is read again as it was', () => {
  const part = fc.constantFrom('=', '-', '＝', "'", '"', ',', ';', '|', '\t', '\r', '\n', ' ', 'a')
  fc.assert(
    fc.property(fc.array(part), (parts) => {
      assert.deepEqual(cells(printCsv([['id', parts.join('')]])), [['id', parts.join('')]])
    }),
    { numRuns: 2_000 },
  )
})

test('marks of encoding, line ends of all kinds, semicolons and empty lines are read', () => {
  const table = [
    ['id', 'price'],
    ['a', '1.00'],
  ]
  for (const text of [
    'id,price\na,1.00',
    '\ufeffid,price\r\na,1.00\r\n',
    'id;price\r\ra;1.00\r',
    '\n\nid,price\n\na,1.00\n\n',
  ])
    assert.deepEqual(cells(text), table, JSON.stringify(text))
  assert.deepEqual(cells('a,b,\n'), [['a', 'b', '']])
})

test('each record knows the line in which it begins, whatever came before it', () => {
  assert.deepEqual(
    parseCsv('id,name\n\na,"one\ntwo\r\nthree"\nb,x\n').map(({ line }) => line),
    [1, 3, 6],
  )
})

test('a broken quote is named with its line', () => {
  assert.throws(
    () => parseCsv('id\n"open'),
    (error) => error instanceof CsvFault && error.line === 2,
  )
  assert.throws(
    () => parseCsv('id\na\n"b"c'),
    (error) => error instanceof CsvFault && error.line === 3,
  )
})
