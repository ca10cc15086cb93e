import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../../../src/config/config.ts'
import { buyAfterBackup, HELD } from './purchase-after-backup.ts'

// C-12 together with another address to be paid at: the backup is older than the till, so nothing in it tells from where on to read.

const RECIPIENT = '0x00000000000000000000000000000000005e11e2'

test('E67: money that came to a till which is younger than the backup does not buy again after it was put back', async (t) => {
  const configure = (config: Config): Config => ({ ...config, mpp: { ...config.mpp!, recipient: RECIPIENT } })
  const { putBack, again } = await buyAfterBackup(t, { configure })
  const { url } = await putBack()
  assert.deepEqual(await again(url), HELD)
})
