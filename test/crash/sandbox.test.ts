import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { loadConfig } from '../../src/config/load.ts'
import { sandboxConfig } from '../../src/sandbox/world.ts'
import { startSandbox } from '../cli/sutler.ts'
import { post } from '../support/buyers.ts'
import { untilAnswered } from '../support/until.ts'
import { verifies } from '../support/verifies.ts'
import { assertNotDenied, type CrashWorld, type Flow, flows, judge } from './flows.ts'

// What `npm start` runs, killed as a whole: store and chains lie in one folder, and must agree when they are opened again. The kill comes
// when the first of several purchases is answered, which finds the others everywhere on their way.

const ROUNDS = Number(process.env['TEST_SANDBOX_KILLS'] ?? 0)
const PURCHASES = 6

type Purchase = { readonly flow: Flow; readonly buyer: PrivateKeyAccount; readonly init: RequestInit }

test(`${ROUNDS} kills of the whole sandbox: store and chains agree, and every purchase ends once`, {
  skip: ROUNDS === 0 && 'not tried; --sandbox-kills=1 tries it',
}, async (t) => {
  verifies('D12.1')
  let shop = await startSandbox({ SUTLER_RATE_REPLAY: '1000000', SUTLER_RATE_READ: '1000000' })
  t.after(() => shop.remove())
  const loaded = loadConfig(shop.env)
  if (loaded.mode !== 'sandbox') throw new TypeError('this is the sandbox')
  const config = sandboxConfig(loaded)
  const { baseUrl } = config.http

  const chainAt = (chainId: number) => ({
    async request({ method, params }: { method: string; params?: unknown }): Promise<unknown> {
      const call = post({ jsonrpc: '2.0', id: 1, method, params: params ?? [] })
      const { result, error } = (await (await fetch(`${baseUrl}/sandbox/rpc/${chainId}`, call)).json()) as {
        result?: unknown
        error?: { message: string }
      }
      if (error) throw new Error(error.message)
      return result
    },
  })
  // The flows of this test ask for the chains alone.
  const world = { config, chains: { native: chainAt(84532), tempo: chainAt(42431) } } as unknown as CrashWorld

  async function begin(flow: Flow): Promise<Purchase> {
    const buyer = privateKeyToAccount(generatePrivateKey())
    await fetch(`${baseUrl}/sandbox/faucet`, post({ address: buyer.address }))
    const unpaid = post(flow.body(buyer, undefined))
    const credential = await flow.rail.pay(world, buyer, await fetch(baseUrl + flow.path, unpaid))
    const headers = { ...(unpaid.headers as Record<string, string>), [flow.rail.header]: credential }
    return { flow, buyer, init: { ...unpaid, headers } }
  }

  /** Null when the shop died under it. */
  const call = async ({ flow, init }: Purchase): Promise<{ status: number; isMoving: boolean } | null> => {
    try {
      const response = await fetch(baseUrl + flow.path, init)
      const { code, refund } = (await response.json()) as { code?: string; refund?: { status: string } | null }
      const isRefunding = code === 'fulfilment_failed' && refund?.status !== 'refunded'
      const isMoving = response.status === 202 || response.status === 503 || isRefunding
      return { status: response.status, isMoving }
    } catch {
      return null
    }
  }

  async function finish(purchase: Purchase): Promise<number> {
    return untilAnswered(async () => {
      const answer = await call(purchase)
      assert.ok(answer, 'the shop is open again')
      return answer.isMoving ? null : answer.status
    })
  }

  for (let round = 0; round < ROUNDS; round++) {
    const purchases: Purchase[] = []
    for (let index = 0; index < PURCHASES; index++) purchases.push(await begin(flows[index % flows.length]!))
    const answers = purchases.map(call)
    await Promise.race(answers)
    await shop.kill()
    await Promise.all(answers)
    shop = await shop.restart()
    // At once, while what the process left behind is as it was, and when all is done.
    for (const { flow, buyer } of purchases) await assertNotDenied(world, flow, buyer, baseUrl)
    for (const purchase of purchases)
      await judge(world, purchase.flow, purchase.buyer, undefined, await finish(purchase))
    for (const { flow, buyer } of purchases) await assertNotDenied(world, flow, buyer, baseUrl)
  }
  assert.equal((await shop.stop()).code, 0)
})
