import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { Secret } from '../../../src/base/secret.ts'
import { demoAddressOf } from '../../../src/sandbox/world.ts'
import { transfers } from '../../crash/flows.ts'
import { AT_ONCE, asOperator, reconcileRail, TOMORROW } from '../../operations/desk.ts'
import { x402Stranger } from '../../operations/strangers.ts'
import { fundedWallet } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { plainTransports, startShop } from '../../support/shop.ts'

// E15 for money without an order: the treasury's key is rotated replica by replica. A person at the replica with the old key sends it back in
// the moment at which the replica with the new one keeps the books.

const AMOUNT = 700_000n
/** `transfer(address,uint256)`: tried out just before it is signed, after all looks at what others have signed. */
const TRANSFER = '0xa9059cbb'

test('E15: orphaned money that a person sends back while another replica keeps the books goes back once, by the old key or by the new one', async (t) => {
  const rail = x402UnderTest
  let tried = async (): Promise<void> => {}
  const shop = await startShop({
    withoutWorker: true,
    wrapTransport: (_chainId, transport) => async (request, max) => {
      const [call] = request.params as readonly { data?: string }[]
      if (request.method === 'eth_call' && call?.data?.startsWith(TRANSFER)) await tried()
      return transport(request, max)
    },
  })
  t.after(() => shop.stop())
  const key = generatePrivateKey()
  const treasury = await fundedWallet(shop, 1_000n, privateKeyToAccount(key))
  const treasuryKey = new Secret(key)
  const service = await shop.replica({
    configure: (config) => ({ ...config, x402: { ...config.x402!, treasuryKey } }),
    transports: plainTransports(shop.chains),
  })
  const stranger = await x402Stranger(shop)
  await stranger.give(AMOUNT)
  const { items } = await reconcileRail(shop, rail, TOMORROW)
  tried = async () => {
    tried = async () => {}
    await reconcileRail({ service }, rail, AT_ONCE)
  }
  const body = JSON.stringify({ decision: 'refund' })
  const headers = { 'content-type': 'application/json' }
  const answer = await asOperator(shop, `/operator/transfers/${items[0]!.id}`, { method: 'POST', headers, body })
  assert.equal(answer.status, 200, await answer.text())
  for (const look of [shop, { service }]) await reconcileRail(look, rail, AT_ONCE)
  const sentBack = [demoAddressOf('treasury'), treasury.address].map((from) =>
    transfers(shop, rail, from, stranger.address),
  )
  assert.deepEqual((await Promise.all(sentBack)).flat(), [AMOUNT])
})
