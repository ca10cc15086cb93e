import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { canonical, parseStrictJson, sha256Hex, stringify } from './json.ts'
import { isProblem, type ProblemCode } from './problem.ts'

const bytes = (text: string): Uint8Array => Buffer.from(text, 'utf8')
const codeOf = (input: string | Uint8Array, depthMax = 16): ProblemCode | null => {
  try {
    parseStrictJson(typeof input === 'string' ? bytes(input) : input, depthMax)
    return null
  } catch (error) {
    if (isProblem(error)) return error.code
    throw error
  }
}

describe('the strict parser', () => {
  test('N-01: what is not JSON is refused', () => {
    for (const text of [
      '',
      ' ',
      '{',
      '}',
      '[',
      '{"a"}',
      '{"a":}',
      '{a:1}',
      "{'a':1}",
      '{"a":1,}',
      '[1,]',
      '{"a":1}{"b":2}',
      '{} x',
      'NaN',
      'Infinity',
      '-Infinity',
      '01',
      '+1',
      '1.',
      '.5',
      '1e',
      '0x1',
      'undefined',
      'True',
      '"\u0001"',
      '"\\x41"',
      '"\\u00g0"',
      '"unterminated',
      '"ends with a backslash\\',
      '// comment\n{}',
      '/* */{}',
      '\ufeff{}',
      '{"a":1}\u0000',
    ])
      assert.equal(codeOf(text), 'invalid_json', JSON.stringify(text))
  })

  test('N-01: bytes that are not UTF-8, and half surrogates, are refused', () => {
    for (const bad of [[0xff], [0x22, 0xc3, 0x28, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22], [0x22, 0xc0, 0x80, 0x22]])
      assert.equal(codeOf(Uint8Array.from(bad)), 'invalid_json')
    for (const text of ['"\\ud800"', '"\\udc00\\ud800"', '{"\\ud800":1}', '[["\\uDBFF"]]'])
      assert.equal(codeOf(text), 'invalid_json', text)
    assert.equal(codeOf('"\\ud83d\\ude00"'), null)
  })

  test('N-04: a key given twice is refused, however it is spelt and wherever it stands', () => {
    for (const text of [
      '{"quantity":1,"quantity":9}',
      '{"a":1,"b":2,"a":3}',
      '{"a":1,"\\u0061":2}',
      '[{"x":{"a":1,"a":1}}]',
      '{"":1,"":2}',
      '{"a" :1, "a"\n:2}',
      '{"__proto__":1,"__proto__":2}',
    ])
      assert.equal(codeOf(text), 'duplicate_key', text)
    for (const text of ['{"a":{"a":1},"b":{"a":1}}', '[{"a":1},{"a":1}]', '{"a":"b","b":"a"}', '{"a":["a","a"]}'])
      assert.equal(codeOf(text), null, text)
  })

  test('N-02: depth is bounded before anything is built', () => {
    const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    assert.equal(codeOf(nest(16)), null)
    assert.equal(codeOf(nest(17)), 'too_deep')
    assert.equal(codeOf(nest(200_000)), 'too_deep')
    assert.equal(codeOf(`${'{"a":'.repeat(17)}1${'}'.repeat(17)}`), 'too_deep')
    assert.equal(codeOf('"[[[[[[[[[[[[[[[[[[[["'), null)
  })

  test('N-01: no key reaches a prototype', () => {
    const parsed = parseStrictJson(bytes('{"__proto__":{"x":1},"constructor":1}'), 16) as Record<string, unknown>
    assert.equal(({} as Record<string, unknown>)['x'], undefined)
    assert.ok(Object.hasOwn(parsed, '__proto__'))
  })

  test('agrees with JSON.parse on everything that JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8 }), (text) => {
        const value = JSON.parse(text)
        fc.pre(JSON.stringify(value) === JSON.stringify(JSON.parse(JSON.stringify(value))))
        assert.deepEqual(parseStrictJson(bytes(JSON.stringify(value)), 16), value)
      }),
    )
  })

  test('N-01: never throws anything but its own refusal, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (input) => void codeOf(input)),
      { numRuns: 5_000 },
    )
    const tokens = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ':',
      ',',
      'a',
      '1',
      '\\u0061',
      'null',
      ' ',
      '\n',
      '"a":',
    )
    fc.assert(
      fc.property(fc.array(tokens, { maxLength: 30 }), (parts) => {
        const text = parts.join('')
        const isJson = (() => {
          try {
            JSON.parse(text)
            return true
          } catch {
            return false
          }
        })()
        // Nothing that JSON.parse refuses gets through.
        assert.ok(isJson || codeOf(text) !== null)
      }),
      { numRuns: 20_000 },
    )
  })
})

describe('canonical JSON', () => {
  test('does not depend on the order of keys or on spaces', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })), (value) => {
        const turned = Object.fromEntries(Object.entries(value).reverse())
        return canonical(value) === canonical(turned) && canonical(JSON.parse(canonical(value))) === canonical(value)
      }),
    )
  })

  test('keeps apart what differs', () => {
    const texts = [{}, { a: 1 }, { a: '1' }, { a: [1] }, { a: null }, { b: 1 }, { a: 1, b: 1 }].map(canonical)
    assert.equal(new Set(texts).size, texts.length)
    assert.equal(canonical({ b: 1, a: undefined }), '{"b":1}')
  })
})

test('a bigint is printed as a decimal string', () => {
  assert.equal(stringify({ amount: 2n ** 70n }), '{"amount":"1180591620717411303424"}')
})

test('a digest is of the bytes', () => {
  assert.equal(sha256Hex(''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  assert.equal(sha256Hex('a'), sha256Hex(bytes('a')))
})
