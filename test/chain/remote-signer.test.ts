import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { systemClock } from '../../src/base/clock.ts'
import { isProblem } from '../../src/base/problem.ts'
import { Secret } from '../../src/base/secret.ts'
import { createWallet, openWallet } from '../../src/outbox/wallet.ts'
import { type Behaviour, startWeb3Signer } from '../support/web3signer.ts'

const call = { to: `0x${'ab'.repeat(20)}`, data: '0x1234', gas: 60_000n } as const
const fees = { maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n }

/** Each look is a new one. */
const restless = () => {
  let now = systemClock.now()
  return { ...systemClock, now: () => (now += 60_000) }
}

test('what a remote signer signs is byte for byte what the key itself would, on either chain', async (t) => {
  const keys = [generatePrivateKey(), generatePrivateKey()] as const
  const { url } = await startWeb3Signer(t, keys)
  for (const key of keys) {
    const remote = openWallet({ address: privateKeyToAddress(key), signer: { url, token: null } }, systemClock)
    const local = createWallet(new Secret(key))
    await remote.assertReady()
    for (const chainId of [84532, 42431]) {
      assert.deepEqual(await remote.signCall(call, 7, fees, chainId), await local.signCall(call, 7, fees, chainId))
      const place = { nonceKey: '0x7', nonce: 0 } as const
      const keyed = [remote, local].map((one) => one.signKeyed(call, place, fees, chainId))
      assert.deepEqual(await keyed[0], await keyed[1])
    }
  }
})

test('a signer that is wrong, dead or has not the key is refused by name, before and at the signature', async (t) => {
  const key = generatePrivateKey()
  const signer = await startWeb3Signer(t, [key])
  const wallet = openWallet({ address: privateKeyToAddress(key), signer: { url: signer.url, token: null } }, restless())
  const told: readonly (readonly [Behaviour, RegExp])[] = [
    ['empty', /does not have this key/],
    ['other-key', /a signature of another key, or over other bytes/],
    ['other-bytes', /a signature of another key, or over other bytes/],
    ['garbage', /something that is no signature/],
    ['refuse', /answers 500/],
  ]
  for (const [how, words] of told) {
    await signer.behave(how)
    for (const ask of [() => wallet.assertReady(), () => wallet.signCall(call, 0, fees, 84532)])
      await assert.rejects(ask, (error) => {
        assert.ok(isProblem(error, 'signer_unavailable'), how)
        assert.match(error.message, words)
        assert.equal(error.status, 503)
        return true
      })
  }
  await signer.behave('well')
  await wallet.assertReady()
  await signer.kill()
  await assert.rejects(wallet.assertReady(), /does not answer/)
})

test('a slow signer is given up on, and a good answer is not asked for again at once', async (t) => {
  const key = generatePrivateKey()
  const signer = await startWeb3Signer(t, [key])
  const remote = { address: privateKeyToAddress(key), signer: { url: signer.url, token: null } }
  const wallet = openWallet(remote, systemClock)
  await wallet.assertReady()
  await signer.behave('silent')
  await wallet.assertReady()
  assert.equal(await signer.signed(), 1, 'it was not asked a second time')
  await assert.rejects(openWallet(remote, systemClock).assertReady(), /does not answer \(no answer within 2000 ms\)/)
})
