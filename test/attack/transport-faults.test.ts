import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { evm, Mppx } from 'mppx/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import { noWaypoint, type Waypoint } from '../../src/base/waypoint.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { type Flow, flows, judge, transfers } from '../crash/flows.ts'
import { PUBLIC_URL } from '../crash/protocol.ts'
import { createReplicas, type Replica } from '../crash/replicas.ts'
import { AT_ONCE, reconcileRail } from '../operations/desk.ts'
import { fundedWallet, mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { untilAnswered } from '../support/until.ts'
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
  // One shop has one realm, whichever of its processes is asked.
  const realm = new URL(PUBLIC_URL).hostname
  shop = await startShop({
    env: { SUTLER_BASE_URL: proxy.url, SUTLER_RATE_REPLAY: '10000' },
    waypoint: (name) => waypoint(name),
    configure: (config) => ({ ...config, mpp: config.mpp && { ...config.mpp, realm } }),
  })
  proxy.send(shop.service.url)
  rpc = await serveRpc([shop.chains.native, shop.chains.tempo])
  const rpcUrls = { 84532: [`${rpc.url}/84532`], 42431: [`${rpc.url}/42431`] }
  // What it would load at the first payment must not take as long as that payment is good for.
  const order = { databaseUrl: shop.store.place.url!, rpcUrls, leaseSeconds: 1, isWarm: true, verbose: false }
  replicas = createReplicas(order)
})
after(async () => {
  replicas?.stop()
  await proxy.close()
  await rpc?.close()
  await shop?.stop()
})

/** Who answered after the last restart; the next one to die. */
let current: Replica | null = null

type StockClient = {
  readonly name: string
  readonly flow: Flow
  /** At which of its steps the process dies: the order is written, the money sent, the money there, the goods sent. */
  readonly dies: number
  payer(account: PrivateKeyAccount, fetchWith: typeof fetch): Pay
}

const flowOf = (rail: Flow['rail']['name']): Flow => flows.find(({ name }) => name === `a lot by ${rail}`)!
const clients: readonly StockClient[] = [
  { name: '@x402/fetch', flow: flowOf('x402'), dies: 2, payer: x402Payer },
  {
    name: 'mppx, x402',
    flow: flowOf('x402'),
    dies: 5,
    payer: (account, fetchWith) => {
      const mppx = Mppx.create({ methods: [evm({ account })], polyfill: false, fetch: fetchWith })
      return (url, init) => mppx.fetch(url, init)
    },
  },
  ...(['pull', 'push'] as const).map((mode) => ({
    name: `mppx, ${mode}`,
    flow: flowOf(`mpp ${mode}`),
    dies: mode === 'pull' ? 4 : 7,
    payer: (account: PrivateKeyAccount, fetchWith: typeof fetch) => mppPayer(shop, account, mode, fetchWith),
  })),
]

/** A wallet that counts what it signs, a client that pays with it, and the payment that it sent last. */
async function customer({ flow, payer }: StockClient, headers: Readonly<Record<string, string>> = {}) {
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
  let giveUp: AbortSignal | undefined
  const listening: typeof fetch = (input, init) => {
    const request = new Request(input, init)
    if (request.headers.has(flow.rail.header)) sent = request.headers
    // Handed on from request to request a signal may be collected on its way, and whoever gives up waits for five minutes.
    return fetch(request, giveUp ? { signal: giveUp } : {})
  }
  const init = post(flow.body(account, undefined), headers)
  const pay = payer(wallet, listening)
  return {
    account,
    signatures: () => signatures,
    /** What its application sees: a status, or that there was no answer. */
    buy: async (signal?: AbortSignal): Promise<number | 'no answer'> => {
      giveUp = signal
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
      const again = { ...init, headers: { ...init.headers, [flow.rail.header]: sent!.get(flow.rail.header)! } }
      return untilAnswered(async () => {
        const answer = await fetch(proxy.url + flow.path, again).catch(() => null)
        await answer?.arrayBuffer()
        return answer && answer.status !== 202 ? answer.status : null
      })
    },
  }
}

const faults: readonly { readonly name: string; readonly fault: Fault; readonly seen: number | 'no answer' }[] = [
  { name: 'the answer is lost', fault: loseAnswer, seen: 'no answer' },
  ...[0, 0.5, 1].map((part) => ({ name: `cut at ${part * 100} %`, fault: cutAt(part), seen: 'no answer' }) as const),
  { name: 'slow: byte by byte', fault: trickle, seen: 200 },
  ...([502, 503] as const).map((status) => ({
    name: `${status} after the settlement`,
    fault: gatewaySays(status),
    seen: status,
  })),
]

/** Each new process costs as much as all other faults of a client: the first one by default, and `--restarts` tries all. */
const isRestarted = (index: number) => index === 0 || process.env['TEST_RESTARTS'] !== undefined

for (const [index, client] of clients.entries()) {
  describe(client.name, () => {
    for (const { name, fault, seen } of faults) {
      test(`M-01: ${name}: one signature, one payment, one delivery`, async () => {
        const { account, signatures, buy, resend } = await customer(client)
        proxy.strike(fault)
        assert.equal(await buy(), seen)
        await judge(shop, client.flow, account, undefined, await resend())
        assert.equal(signatures(), 1)
      })
    }

    for (const moment of ['order.opening', 'settle.begun', 'deliver.begun', 'answer.ready'] as const) {
      test(`M-01: time-out after the call was accepted, at ${moment}: one signature, one payment, one delivery`, async () => {
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

    // No answer of ours: once money may have moved, the shop does not say 402. The x402 package leaves it at that; mppx pays whatever 402 it
    // sees, and it is for the shop to make that harmless. An x402 payment names no challenge, so there the caller's own key has to do it.
    test('double 402: a challenge that somebody repeats after it was paid buys nothing twice', async () => {
      const { account, signatures, buy, resend } = await customer(client, {
        'idempotency-key': `key-of-${client.name.replaceAll(/\W/g, '-')}`,
      })
      const paysAgain = client.name !== '@x402/fetch'
      proxy.strike(repeatChallenge)
      assert.equal(await buy(), paysAgain ? 200 : 402)
      assert.equal(signatures(), paysAgain ? 2 : 1)
      const { rail, delivered } = client.flow
      if (rail.name === 'mpp push') {
        // Its own hand moved the money a second time. That money has no order, and goes back.
        assert.equal((await transfers(shop, rail, account.address, shop.config.mpp!.recipient)).length, 2)
        const report = await reconcileRail(shop, rail, AT_ONCE)
        assert.deepEqual([report.difference, report.items], [0n, []])
        assert.equal((await transfers(shop, rail, demoAddressOf('treasury'), account.address)).length, 1)
        assert.equal(await delivered(shop, account, undefined), 1)
      } else await judge(shop, client.flow, account, undefined, await resend())
    })

    test('restart: the process dies under the paid call, and the next one answers it', {
      skip: !isRestarted(index) && 'not tried; --restarts tries it',
    }, async () => {
      const { account, signatures, buy, resend } = await customer(client)
      const dying = current ?? (await replicas.start())
      proxy.send(dying.url)
      await dying.crashAfter(client.dies)
      assert.equal(await buy(), 'no answer')
      await dying.died
      current = await replicas.start()
      proxy.send(current.url)
      const status = await resend()
      proxy.send(shop.service.url)
      await judge(shop, client.flow, account, undefined, status)
      assert.equal(signatures(), 1)
    })
  })
}
