import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../src/base/clock.ts'
import { withChains } from '../../src/config/config.ts'
import type { DevChain } from '../../src/devchain/chain.ts'
import { challengeOf, credentialOf, mppWallet, payingCall } from '../checkout/mpp-wallet.ts'
import { readFigures } from '../operations/figures.ts'
import { fundedWallet, post } from '../support/buyers.ts'
import { mppPullUnderTest, type RailUnderTest, x402UnderTest } from '../support/credentials.ts'
import { handClock } from '../support/hand-clock.ts'
import { answersOf, type HeadServer, headMessage, startHeadServer } from '../support/head-server.ts'
import { startShop } from '../support/shop.ts'
import { until } from '../support/until.ts'

// What a node tells of new blocks saves questions, and decides nothing. A whole shop, a whole purchase, and blocks a second after what they hold
// was sent: time moves by hand, so what is asked in between is a number.

const BLOCK_MS = 1_000
const BY_HAND = 3_600_000
/** A lot is paid for in one transaction, and handed over in another. */
const TRANSACTIONS = 2
const NATIVE = 84532
const TEMPO = 42431

type Stage = Awaited<ReturnType<typeof openStage>>

async function openStage(t: TestContext, servers: readonly HeadServer[] = []) {
  const clock = handClock(Math.ceil(systemClock.now() / 3_000) * 3_000)
  const asked: string[] = []
  let found = 0
  const sent: number[] = []
  const urls = new Map([NATIVE, TEMPO].map((chainId, index) => [chainId, servers[index]?.url ?? null]))
  for (const server of servers) t.after(() => server.close())
  const shop = await startShop({
    clock,
    blockTimeMs: BY_HAND,
    withoutWorker: true,
    configure: (config) => withChains(config, (chain) => ({ ...chain, listenUrl: urls.get(chain.chainId) ?? null })),
    wrapTransport: (chainId, transport) => (request) =>
      clock.working(async () => {
        asked.push(request.method)
        const answer = await transport(request)
        if (request.method === 'eth_sendRawTransaction') sent.push(chainId)
        if (request.method === 'eth_getTransactionReceipt' && (answer as { result: unknown }).result) found++
        return answer
      }),
  })
  t.after(() => shop.stop())
  const questions = () => asked.filter((method) => method === 'eth_getTransactionReceipt').length
  /** Lets time pass until somebody finds the receipt, and no longer: what follows begins at that moment. */
  async function untilFound(): Promise<void> {
    for (const before = found; found === before; ) await clock.pass(10)
  }
  return { clock, shop, sent, questions, untilFound }
}

const figure = (chainId: number) => `sutler_rpc_listening{chain="${chainId}"}`

/** Until the shop itself says so. */
async function listening({ shop }: Stage, isHeard: 0 | 1 = 1): Promise<void> {
  await until(async () => {
    const figures = await readFigures(shop)
    return [NATIVE, TEMPO].every((chainId) => figures.value(figure(chainId)) === isHeard)
  })
}

/** A node for each chain that tells of its blocks. */
async function startHeadServers(answerOf = answersOf) {
  const servers = await Promise.all([NATIVE, TEMPO].map((chainId) => startHeadServer(chainId, answerOf(chainId))))
  return { servers, serverOf: ({ chainId }: DevChain) => servers[chainId === NATIVE ? 0 : 1]! }
}

type Purchase = (stage: Stage) => Promise<() => Promise<Response>>

/** The stock client pays, and we send. */
const paidBy =
  (rail: RailUnderTest): Purchase =>
  async ({ shop }) => {
    const buyer = await fundedWallet(shop)
    const url = `${shop.url}/agentic/${rail.rail}/buy`
    const body = { saleId: 392, beneficiary: buyer.address }
    const credential = await rail.pay(shop, buyer, await fetch(url, post(body)))
    return () => fetch(url, post(body, { [rail.header]: credential }))
  }

/** The payer has sent, and shows it before it has a block. */
const pushed: Purchase = async ({ shop, sent }) => {
  const wallet = await mppWallet(shop)
  const url = `${shop.url}/agentic/mpp/buy`
  const body = { saleId: 392, beneficiary: wallet.address }
  const challenge = challengeOf(await fetch(url, post(body)))
  const hash = await wallet.send(wallet.sign([payingCall(challenge)]))
  sent.push(TEMPO)
  return () => fetch(url, post(body, { authorization: credentialOf(challenge, { type: 'hash', hash }) }))
}

/** Buys a lot. Each of its transactions gets a block a second after it was sent; `onBlock` says what happens then. */
async function buy(
  stage: Stage,
  purchase: Purchase,
  onBlock: (chain: DevChain) => Promise<void>,
  onWay = async () => {},
) {
  const { clock, shop, sent, questions } = stage
  const pay = await purchase(stage)
  const answer = pay()
  for (let done = 0; done < TRANSACTIONS; done++) {
    // Time stands still until it is asked for: what comes before takes no time at all.
    await until(() => sent.length > done && questions() > 0)
    await clock.pass(BLOCK_MS / 2)
    await onWay()
    await clock.pass(BLOCK_MS / 2)
    const chain = sent[done] === TEMPO ? shop.chains.tempo : shop.chains.native
    await chain.request({ method: 'evm_mine' })
    await onBlock(chain)
  }
  return { status: (await answer).status, questions: questions() }
}

/** What one purchase asks for receipts when nobody tells of blocks, and when somebody does. */
const counts = [
  { name: 'x402', purchase: paidBy(x402UnderTest), untold: 30, told: 6 },
  { name: 'MPP pull', purchase: paidBy(mppPullUnderTest), untold: 30, told: 6 },
  { name: 'MPP push', purchase: pushed, untold: 32, told: 8 },
]

for (const { name, purchase, untold, told } of counts) {
  test(`a lot by ${name} takes ${untold} questions for receipts by the clock, at a block a second`, async (t) => {
    const stage = await openStage(t)
    const bought = await buy(stage, purchase, stage.untilFound)
    assert.deepEqual(bought, { status: 200, questions: untold })
  })

  test(`a lot by ${name} takes ${told} where a node tells of blocks, and no moment longer than its blocks`, async (t) => {
    const { servers, serverOf } = await startHeadServers()
    const stage = await openStage(t, servers)
    await listening(stage)
    const bought = await buy(stage, purchase, (chain) => serverOf(chain).announce(chain))
    assert.deepEqual(bought, { status: 200, questions: told })
  })
}

const bought = { status: 200, questions: 30 }
const [{ purchase: lot }] = counts as [(typeof counts)[0]]

test('M-18: a node that goes away in the middle of a purchase keeps nobody from it', async (t) => {
  const { servers } = await startHeadServers()
  const stage = await openStage(t, servers)
  await listening(stage)
  const leave = async () => {
    for (const server of servers) await server.close()
    await listening(stage, 0)
  }
  const { status, questions } = await buy(stage, lot, stage.untilFound, leave)
  assert.equal(status, 200)
  // Half of the first second was listened for.
  assert.ok(questions > 15 && questions <= bought.questions, String(questions))
})

for (const [what, answerOf] of [
  ['says nothing', () => () => undefined],
  ['is of another chain', (chainId: number) => answersOf(chainId + 1)],
] as const)
  test(`M-18: beside a node that ${what}, a purchase asks as it does without one`, async (t) => {
    const { servers } = await startHeadServers(answerOf)
    const stage = await openStage(t, servers)
    await until(() => servers.every(({ asked }) => asked.length > 0))
    assert.deepEqual(await buy(stage, lot, stage.untilFound), bought)
    await listening(stage, 0)
  })

test('M-18: a node that tells of blocks that are none, and of none that are, costs less than to ask by the clock', async (t) => {
  const { servers } = await startHeadServers()
  const stage = await openStage(t, servers)
  await listening(stage)
  const lie = async () => {
    for (const server of servers)
      await server.say(...Array.from({ length: 20 }, () => headMessage({ number: '0xffff' })))
  }
  const { status, questions } = await buy(stage, lot, stage.untilFound, lie)
  assert.equal(status, 200)
  assert.ok(questions <= bought.questions, String(questions))
})

test('M-18: a node that floods costs no more questions than to ask by the clock', async (t) => {
  const { servers } = await startHeadServers()
  const stage = await openStage(t, servers)
  await listening(stage)
  const flood = async () => {
    for (const server of servers) await server.say(...Array.from({ length: 5_000 }, () => headMessage({})))
  }
  const { status, questions } = await buy(stage, lot, stage.untilFound, flood)
  assert.equal(status, 200)
  assert.ok(questions <= bought.questions, String(questions))
})

test('a shop that stops hangs up, though nobody answers its good-bye', async (t) => {
  const { servers } = await startHeadServers()
  const stage = await openStage(t, servers)
  await listening(stage)
  const goOn = servers.map((server) => server.stall())
  await stage.shop.service.stop()
  for (const again of goOn) again()
  await until(() => servers.every((server) => server.listeners() === 0))
})
