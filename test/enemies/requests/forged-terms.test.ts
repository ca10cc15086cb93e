import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Secret } from '../../../src/base/secret.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { ConfigFault } from '../../../src/config/options.ts'
import { publishedAddresses, publishedKeys, SANDBOX_MPP_SECRET } from '../../../src/config/published.ts'
import { createWallet } from '../../../src/outbox/wallet.ts'
import { issueChallenge } from '../../../src/rails/mpp/challenge.ts'
import { said } from '../../checkout/counter.ts'
import { type Asked, challengeOf, credentialOf, memoOf, mppWallet, payingCall } from '../../checkout/mpp-wallet.ts'
import { post } from '../../support/buyers.ts'
import { productionEnv } from '../../support/production.ts'
import { erc20Balance, startShop, type TestShop } from '../../support/shop.ts'
import { verifies } from '../../support/verifies.ts'

// Recipient, asset, chain, amount and realm are compared with the shop's own; a keyed digest proves only that somebody had the secret.

let shop: TestShop
before(async () => {
  shop = await startShop()
})
after(() => shop.stop())

test('E7: keys and secrets that everybody knows are refused in production, each by its option', () => {
  verifies('D12.6')
  const [key] = publishedKeys()
  for (const value of publishedKeys()) {
    const faults = faultsOf({ SUTLER_X402_SETTLER_KEY: value, SUTLER_RECEIPT_KEY: value, SUTLER_MINTER_KEY: value })
    assert.ok(faults.includes('SUTLER_X402_SETTLER_KEY') && faults.includes('SUTLER_RECEIPT_KEY'), value)
  }
  assert.ok(faultsOf({ SUTLER_MPP_SECRET: SANDBOX_MPP_SECRET.reveal() }).includes('SUTLER_MPP_SECRET'))
  assert.ok(faultsOf({ SUTLER_MPP_SECRET: key! }).includes('SUTLER_MPP_SECRET'))
  for (const address of publishedAddresses)
    assert.deepEqual(faultsOf({ SUTLER_X402_PAY_TO: address }), ['SUTLER_X402_PAY_TO'], address)
})

test('the published addresses are those of the published keys', () => {
  const derived = publishedKeys().map((key) => createWallet(new Secret(key)).address)
  assert.deepEqual(derived, publishedAddresses)
})

function faultsOf(changes: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig({ ...productionEnv(), ...changes })
    return []
  } catch (error) {
    if (!(error instanceof ConfigFault)) throw error
    return error.issues.map(({ option }) => option)
  }
}

/** A challenge that only somebody with the shop's own secret can make. */
function forged(asked: Asked, changes: { amount?: string; recipient?: `0x${string}`; realm?: string }): Asked {
  const decoded = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString())
  const request = { ...asked.request, ...changes } as never
  const { realm = asked.realm } = changes
  const raw = issueChallenge(
    {
      realm,
      request,
      binding: { flow: 'f', nonce: 'n', scope: 'POST /shop/mpp/buy' },
      description: asked.description ?? '',
      digest: (asked as { digest?: string }).digest ?? null,
      expiresAt: Date.parse(asked.expires!),
    },
    SANDBOX_MPP_SECRET,
  )
  return { ...raw, request: decoded(raw.request), opaque: decoded(raw.opaque) } as unknown as Asked
}

const ITEM = { itemId: 'keys:5', quantity: 1, nickname: 'Demo' }

for (const mode of ['push', 'pull'] as const) {
  test(`E7: a self-made challenge that pays the thief’s other address buys nothing by ${mode}`, async () => {
    await assertBuysNothing(mode, (_asked, other) => ({ recipient: other, amount: '1' }))
  })
  test(`E7: a self-made challenge under another name buys nothing by ${mode}`, async () => {
    await assertBuysNothing(mode, () => ({ realm: 'another.example' }))
  })
}

async function assertBuysNothing(
  mode: 'push' | 'pull',
  change: (asked: Asked, other: `0x${string}`) => Parameters<typeof forged>[1],
): Promise<void> {
  const [thief, other] = [await mppWallet(shop), await mppWallet(shop)]
  const url = `${shop.url}/shop/mpp/buy`
  const asked = challengeOf(await fetch(url, post(ITEM)))
  const challenge = forged(asked, change(asked, other.address))
  const signed = thief.sign([payingCall(challenge, { memo: memoOf(challenge) })])
  const payload =
    mode === 'push' ? { type: 'hash', hash: await thief.send(signed) } : { type: 'transaction', signature: signed }
  const delivered = await granted()
  const answer = await fetch(url, post(ITEM, { authorization: credentialOf(challenge, payload) }))
  assert.ok([402, 409].includes(answer.status), String(answer.status))
  const { payment } = await said(answer)
  const reached = (await erc20Balance(shop.chains.tempo, shop.config.mpp!.currency.address, other.address)) > 0n
  if (mode === 'push' && !reached) assert.equal(payment.taken, true)
  assert.equal(await granted(), delivered)
}

async function granted(): Promise<number> {
  return (await shop.store.db.query<{ n: number }>('select count(*)::int as n from inventory_ledger')).rows[0]!.n
}
