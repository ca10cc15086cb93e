import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { viewer } from '../../../src/api/pages/assets.ts'
import type { Limits } from '../../../src/config/limits.ts'
import { startShop, type TestShop } from '../../support/shop.ts'
import { until } from '../../support/until.ts'
import { head, type Mute, openMute } from './mute-socket.ts'

// Whoever asks and does not read costs memory and a socket, and nobody else a place.

const limited = (limits: Partial<Limits>) => ({
  configure: (config: TestShop['config']) => ({ ...config, limits: { ...config.limits, ...limits } }),
})

const statusOf = async (shop: TestShop, path: string) => (await fetch(shop.url + path)).status

/** More than all buffers between two processes hold. */
const LARGE = head('GET', viewer.script).repeat(10)

test('H-01: three sockets with sixty documents and nine hundred preflights each, never read, stop nobody', async () => {
  const shop = await startShop()
  const mutes = Array.from({ length: 3 }, () => openMute(shop))
  try {
    for (const { write } of mutes)
      write(head('GET', '/openapi.json').repeat(60) + head('OPTIONS', '/catalog').repeat(900))
    await until(() => mutes.every(({ isCut }) => isCut()))
    for (const path of ['/catalog', '/health/live', '/health/ready'])
      assert.equal(await statusOf(shop, path), 200, path)
  } finally {
    for (const { socket } of mutes) socket.destroy()
    await shop.stop()
  }
})

describe('an answer of which nothing is taken', () => {
  let shop: TestShop
  const open: Mute[] = []
  before(async () => {
    shop = await startShop(limited({ requestsMax: 20, writeMsMax: 500 }))
    // It is read from the disk for the first who asks.
    assert.equal(await statusOf(shop, viewer.script), 200)
  })
  after(async () => {
    for (const { socket } of open) socket.destroy()
    await shop.stop()
  })
  function mute(bytes: string): Mute {
    const opened = openMute(shop)
    open.push(opened)
    opened.write(bytes)
    return opened
  }

  test('holds no place while it waits, and is given up', async () => {
    const mutes = Array.from({ length: 5 }, () => mute(LARGE))
    // Fifty answers wait to be taken, and there is room for twenty requests.
    await until(async () => {
      assert.equal(await statusOf(shop, '/catalog'), 200)
      return mutes.every(({ isCut }) => isCut())
    })
  })

  test('is given up though its reader goes on asking', async () => {
    const talker = mute(LARGE)
    await until(() => {
      // Half a header, letter by letter: bytes that arrive are no progress of those that leave.
      talker.write('X')
      return talker.isCut()
    })
  })

  test('is not given up while its reader takes some of it, however slowly', async () => {
    const slow = mute(LARGE)
    let taken = 0
    // As long as three others, one after the other, take nothing and are cut.
    for (let cut = 0; cut < 3; cut++) {
      const still = mute(LARGE)
      while (!still.isCut()) {
        taken += slow.take(96 * 1024)
        await setTimeout(20)
      }
    }
    assert.equal(slow.isCut(), false, `cut after ${taken} bytes`)
    assert.ok(taken > 0)
  })
})
