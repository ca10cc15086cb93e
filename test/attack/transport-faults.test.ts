import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { evm, Mppx } from 'mppx/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import { noWaypoint, type Waypoint } from '../../src/base/waypoint.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { type Flow, flows, judge, transfers } from '../crash/flows.ts'
import { createReplicas } from '../crash/replicas.ts'
import { AT_ONCE, reconcileRail } from '../operations/desk.ts'
import { fundedWallet, mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import {
  cutAt,
  type Fault,
  type FaultProxy,
  gatewaySays,
  loseAnswer,
  repeatChallenge,
  silence,
  startFaultProxy,
  trickle,
} from './fault-proxy.ts'

// Seven things a network does to the answer of a paid call, done to unmodified clients. None of them signs a second payment because of
// what the shop said; whoever shows the same payment again gets the answer; and the chain says: charged once, delivered once.

let proxy: FaultProxy
let shop: TestShop
let rpc: RpcServer
/** The same shop in processes of their own, which can be killed. */
let replicas: ReturnType<typeof createReplicas>
let waypoint: Waypoint = noWaypoint
before(async () => {
  proxy = await startFaultProxy()
  shop = await startShop({
    env: { SUTLER_BASE_URL: proxy.url, SUTLER_RATE_REPLAY: '10000' },
    waypoint: (name) => waypoint(name),
    withoutWorker: true,
  })
  proxy.send(shop.service.url)
  rpc = await serveRpc([shop.chains.native, shop.chains.tempo])
  const rpcUrls = { 84532: `${rpc.url}/84532`, 42431: `${rpc.url}/42431` }
  replicas = createReplicas({ databaseUrl: shop.store.place.url!, rpcUrls, leaseSeconds: 1, verbose: false }, 2)
})
after(async () => {
  replicas.stop()
  await proxy.close()
  await rpc.close()
  await shop.stop()
})

type StockClient = {
  readonly name: string
  readonly flow: Flow
  payer(account: PrivateKeyAccount, fetchWith: typeof fetch): Pay
}

const flowOf = (rail: Flow['rail']['name']): Flow => flows.find(({ name }) => name === `a lot by ${rail}`)!
const clients: readonly StockClient[] = [
  { name: '@x402/fetch', flow: flowOf('x402'), payer: x402Payer },
  {
    name: 'mppx, x402',
    flow: flowOf('x402'),
    payer: (account, fetchWith) => {
      const mppx = Mppx.create({ methods: [evm({ account })], polyfill: false, fetch: fetchWith })
      return (url, init) => mppx.fetch(url, init)
    },
  },
  ...(['pull', 'push'] as const).map((mode) => ({
    name: `mppx, ${mode}`,
    flow: flowOf(`mpp ${mode}`),
    payer: (account: PrivateKeyAccount, fetchWith: typeof fetch) => mppPayer(shop, account, mode, fetchWith),
  })),
]

/** A wallet that counts what it signs, a client that pays with it, and the payment that it sent last. */
async function customer({ flow, payer }: StockClient) {
  const account = await fundedWallet(shop)
  let signatures = 0
  const counting = <Sign extends (...args: never[]) => unknown>(sign: Sign): Sign =>
    ((...args) => {
      signatures++
      return sign(...args)
    }) as Sign
  const wallet = {
    ...account,
    signTypedData: counting(account.signTypedData),
    signTransaction: counting(account.signTransaction),
  }
  let sent: Headers | null = null
  const listening: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has(flow.rail.header)) sent = request.headers
    return fetch(request)
  }
  const init = post(flow.body(account, undefined))
  const pay = payer(wallet, listening)
  return {
    account,
    signatures: () => signatures,
    /** What its application sees: a status, or that there was no answer. */
    buy: async (signal?: AbortSignal): Promise<number | 'no answer'> => {
      try {
        const answer = await pay(proxy.url + flow.path, { ...init, ...(signal ? { signal } : {}) })
        await answer.arrayBuffer()
        return answer.status
      } catch {
        return 'no answer'
      }
    },
    /** The same payment again, until there is an answer that says how it ended. */
    async resend(): Promise<number> {
      for (;;) {
        const again = { ...init, headers: { ...init.headers, [flow.rail.header]: sent!.get(flow.rail.header)! } }
        const answer = await fetch(proxy.url + flow.path, again).catch(() => null)
        await answer?.arrayBuffer()
        if (answer && answer.status !== 202) return answer.status
      }
    },
  }
}

const faults: readonly { readonly name: string; readonly fault: Fault; readonly seen: number | 'no answer' }[] = [
  { name: 'the answer is lost', fault: loseAnswer, seen: 'no answer' },
  ...[0, 0.01, 0.2, 0.5, 0.8, 1].map(
    (part) => ({ name: `cut at ${part * 100} %`, fault: cutAt(part), seen: 'no answer' }) as const,
  ),
  { name: 'slow: byte by byte', fault: trickle, seen: 200 },
  ...([500, 502, 503, 504] as const).map((status) => ({
    name: `${status} after the settlement`,
    fault: gatewaySays(status),
    seen: status,
  })),
]

for (const client of clients) {
  describe(client.name, () => {
    for (const { name, fault, seen } of faults) {
      test(`M-11: ${name}: one signature, one payment, one delivery`, async () => {
        const { account, signatures, buy, resend } = await customer(client)
        proxy.strike(fault)
        assert.equal(await buy(), seen)
        await judge(shop, client.flow, account, undefined, await resend())
        assert.equal(signatures(), 1)
      })
    }

    for (const moment of ['order.opening', 'settle.begun', 'deliver.begun', 'answer.ready'] as const) {
      test(`M-11: time-out after the call was accepted, at ${moment}: one signature, one payment, one delivery`, async () => {
        const { account, signatures, buy, resend } = await customer(client)
        const patience = new AbortController()
        waypoint = (reached) => {
          if (reached === moment) patience.abort()
        }
        proxy.strike(silence)
        assert.equal(await buy(patience.signal), 'no answer')
        waypoint = noWaypoint
        await judge(shop, client.flow, account, undefined, await resend())
        assert.equal(signatures(), 1)
      })
    }

    test('double 402: both challenges of a call that arrived twice are good, and one of them is paid', async () => {
      const { account, signatures, buy } = await customer(client)
      proxy.stutter()
      await judge(shop, client.flow, account, undefined, Number(await buy()))
      assert.equal(signatures(), 1)
    })

    // No answer of ours: a paid call is never answered with 402 once money may have moved. The x402 package leaves it at that; mppx pays
    // whatever 402 it sees, and it is for us to make that harmless.
    test('double 402: a challenge that somebody repeats after it was paid is not charged twice', async () => {
      const { account, signatures, buy, resend } = await customer(client)
      const isPush = client.name === 'mppx, push'
      proxy.strike(repeatChallenge)
      const seen = await buy()
      assert.equal(seen, client.name === '@x402/fetch' ? 402 : client.name === 'mppx, x402' ? 409 : 200)
      assert.equal(signatures(), client.name === '@x402/fetch' ? 1 : 2)
      if (isPush) {
        // Its own hand moved the money a second time: that money is nobody's order, and goes back.
        const { flow } = client
        assert.equal((await transfers(shop, flow.rail, account.address, shop.config.mpp!.recipient)).length, 2)
        const report = await reconcileRail(shop, flow.rail, AT_ONCE)
        assert.deepEqual([report.difference, report.items], [0n, []])
        assert.deepEqual(await flow.delivered(shop, account, undefined), 1)
      } else await judge(shop, client.flow, account, undefined, seen === 200 ? seen : await resend())
    })

    for (const at of [2, 4, 7]) {
      test(`restart: the process is killed at its step ${at} of the paid call; the next one answers it`, async () => {
        const { account, signatures, buy, resend } = await customer(client)
        const first = await replicas.start()
        proxy.send(first.url)
        await first.crashAfter(at)
        assert.equal(await buy(), 'no answer')
        await first.died
        const second = await replicas.start()
        proxy.send(second.url)
        const status = await resend()
        proxy.send(shop.service.url)
        second.kill()
        await second.died
        await judge(shop, client.flow, account, undefined, status)
        assert.equal(signatures(), 1)
      })
    }
  })
}
