import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cachedRead, cachedValue } from './cached-read.ts'

for (const [name, cached] of [
  ['that is waited for', cachedRead],
  ['that is there', cachedValue],
] as const)
  test(`M-27: a reading ${name} is shared while it is young, and not because the clock was put back since`, async () => {
    let now = 1_000_000
    let made = 0
    const read = cached({ now: () => now, sleep: async () => {} }, 2_000, async () => ++made)
    assert.equal(await read(), 1)
    now += 2_000
    assert.equal(await read(), 1)
    now += 1
    assert.equal(await read(), 2)
    now -= 600_000
    assert.equal(await read(), 3)
    assert.equal(await read(), 3)
  })
