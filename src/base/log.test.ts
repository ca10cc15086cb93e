import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, describeError, type LogLevel, redact } from './log.ts'

function logAt(level: LogLevel) {
  const lines: string[] = []
  const log = createLog({ level, clock: { now: () => 0, sleep: async () => {} }, write: (line) => lines.push(line) })
  return { log, lines }
}

test('a line is one JSON object with time, level, message and fields', () => {
  const { log, lines } = logAt('debug')
  log.with({ orderId: 'ord_1' }).info('sold', { amount: 5n })
  assert.deepEqual(JSON.parse(lines[0]!), {
    time: '1970-01-01T00:00:00.000Z',
    level: 'info',
    message: 'sold',
    orderId: 'ord_1',
    amount: '5',
  })
  assert.ok(lines[0]!.endsWith('}\n'))
})

test('what is less grave than the level is not written', () => {
  const { log, lines } = logAt('warn')
  log.debug('a')
  log.info('b')
  log.warn('c')
  log.error('d')
  assert.equal(lines.length, 2)
})

test('K-01: payment credentials and signatures are blacked out, hashes are not', () => {
  const { log, lines } = logAt('debug')
  const payload = Buffer.from(JSON.stringify({ x402Version: 2, payload: { signature: 'x'.repeat(80) } }))
  const hash = `0x${'ab'.repeat(32)}`
  const signature = `0x${'cd'.repeat(65)}`
  const signed = `0x76${'ef'.repeat(300)}`
  log.error('refused', {
    header: `Payment ${payload.toString('base64url')}`,
    x402: payload.toString('base64'),
    signature,
    error: new Error(`bad ${signed}`, { cause: new Error(payload.toString('base64')) }),
    hash,
  })
  const line = lines[0]!
  assert.ok(line.includes(hash))
  for (const secret of [signature, signed, payload.toString('base64'), payload.toString('base64url')])
    assert.ok(!line.includes(secret))
  assert.equal(redact('Payment of 5 USD'), 'Payment of 5 USD')
})

test('an error keeps its name, code and causes, and is bounded', () => {
  const error = Object.assign(new TypeError('x'.repeat(5_000), { cause: new Error('why') }), { code: 'EPIPE' })
  const told = describeError(error) as { name: string; message: string; code: string; cause: { message: string } }
  assert.deepEqual([told.name, told.message.length, told.code, told.cause.message], ['TypeError', 500, 'EPIPE', 'why'])
  assert.deepEqual(describeError('text'), { message: 'text' })
})

test('a line break in a value does not forge a line', () => {
  const { log, lines } = logAt('debug')
  log.info('a\n{"level":"error"}', { note: 'b\nc' })
  assert.equal(lines.join('').trimEnd().split('\n').length, 1)
})

test('an error that is its own cause does not hang whoever reports it', () => {
  const error = new Error('turns in circles')
  error.cause = error
  assert.ok(JSON.stringify(describeError(error)).length < 10_000)
})
