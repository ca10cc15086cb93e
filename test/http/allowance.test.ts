import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createRateCounter } from '../../src/api/gate/rate-counter.ts'
import { clientKey, createClientFinder } from '../../src/api/http/client-address.ts'
import type { Clock } from '../../src/base/clock.ts'

/** Time that moves only when told to. */
function standingClock(): Clock & { pass(ms: number): void } {
  let now = 1_800_000_000_000
  return {
    now: () => now,
    sleep: async () => {},
    pass(ms) {
      now += ms
    },
  }
}

const perMinute = (quota: number) => ({ name: 'unpaid', quota, windowMs: 60_000 })

describe('an allowance', () => {
  test('is granted to the last call and not to the next, and is whole again when its window ends', () => {
    const clock = standingClock()
    const counter = createRateCounter({ allowance: perMinute(3), callersMax: 10, clock })
    assert.deepEqual(
      [1, 2, 3, 4].map(() => counter.take('a').isGranted),
      [true, true, true, false],
    )
    const { left, resetSeconds } = counter.peek('a')
    assert.equal(left, 0)
    assert.ok(resetSeconds >= 1 && resetSeconds <= 60)
    assert.equal(counter.take('b').isGranted, true)
    clock.pass(resetSeconds * 1000)
    assert.equal(counter.take('a').isGranted, true)
  })

  test('R-01: a caller who moves to another replica may make the rest there', () => {
    const [quota, before] = [600, 510]
    const clock = standingClock()
    const totals = new Map<number, number>()
    const replica = () => {
      let isHot = false
      const counter = createRateCounter({
        allowance: perMinute(quota),
        callersMax: 10,
        clock,
        onHot: () => {
          isHot = true
        },
      })
      return () => {
        const { isGranted } = counter.take('a')
        if (isHot)
          for (const report of counter.unreported()) {
            const hits = (totals.get(report.window) ?? 0) + report.hits
            totals.set(report.window, hits)
            counter.learn({ ...report, hits }, report.hits)
          }
        isHot = false
        return isGranted
      }
    }
    const [first, second] = [replica(), replica()]
    for (let i = 0; i < before; i++) assert.ok(first())
    let granted = before
    while (second()) granted++
    assert.ok(granted > quota * 0.97 && granted <= quota * 1.05, `${granted} of ${quota}`)
  })

  test('R-01: a million callers are counted in bounded memory', () => {
    const counter = createRateCounter({ allowance: perMinute(3), callersMax: 10_000, clock: standingClock() })
    for (let i = 0; i < 1_000_000; i++)
      counter.take(`2001:db8:${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}::/64`)
    assert.ok(counter.size <= 10_000, `${counter.size} are remembered`)
    // Who came last is remembered best.
    assert.equal(
      counter.peek(`2001:db8:${(999_999 >> 16).toString(16)}:${(999_999 & 0xffff).toString(16)}::/64`).left,
      2,
    )
  })
})

describe('R-01: whom an allowance belongs to', () => {
  test('an IPv6 network counts as one caller, and an address has one name however it is written', () => {
    for (const [address, key] of [
      ['203.0.113.9', '203.0.113.9'],
      ['::ffff:203.0.113.9', '203.0.113.9'],
      ['::ffff:cb00:7109', '203.0.113.9'],
      ['64:ff9b::203.0.113.9', '203.0.113.9'],
      ['64:ff9b::cb00:7109', '203.0.113.9'],
      ['2002:cb00:7109::1', '203.0.113.9'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:db8:1:2::', '2001:db8:1:2::/64'],
      ['2001:db8::1', '2001:db8:0:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['nonsense', 'unknown'],
      ['', 'unknown'],
    ] as const)
      assert.equal(clientKey(address), key, address)
  })

  const from = (remoteAddress: string, forwarded?: string) => ({
    header: () => forwarded,
    peer: clientKey(remoteAddress),
  })

  test('without proxies of ours, X-Forwarded-For is only what the caller wrote', () => {
    assert.equal(createClientFinder(0)(from('198.51.100.1', '203.0.113.9')), '198.51.100.1')
  })

  test('behind proxies of ours the outermost one names the caller, and what stands left of that is not believed', () => {
    assert.equal(createClientFinder(1)(from('10.0.0.1', '1.1.1.1, 203.0.113.9')), '203.0.113.9')
    assert.equal(createClientFinder(2)(from('10.0.0.1', '1.1.1.1, 203.0.113.9, 10.0.0.2')), '203.0.113.9')
    assert.equal(createClientFinder(1)(from('10.0.0.1', '203.0.113.9:4711')), '203.0.113.9')
    assert.equal(createClientFinder(1)(from('10.0.0.1', '[2001:db8:1:2::9]:4711')), '2001:db8:1:2::/64')
  })

  test('a proxy that says nothing, or nonsense, counts as the caller itself', () => {
    assert.equal(createClientFinder(1)(from('10.0.0.1')), '10.0.0.1')
    assert.equal(createClientFinder(1)(from('10.0.0.1', 'unknown')), '10.0.0.1')
    assert.equal(createClientFinder(2)(from('10.0.0.1', '203.0.113.9')), '10.0.0.1')
  })
})
