import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { createWalletClient, custom } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import type { Hex } from '../../src/base/hex.ts'
import { createWallet } from '../../src/outbox/wallet.ts'
import { grantStep, pauseStep, type RolePlace, revokeStep } from '../../src/setup/contract-roles.ts'
import { assertAffordable } from '../../src/setup/cost.ts'
import { birthsOf, deploymentSteps, placesOf } from '../../src/setup/deployment.ts'
import { assertFactory } from '../../src/setup/factory.ts'
import { SetupFault } from '../../src/setup/fault.ts'
import { markDone, readPlan, savePlan } from '../../src/setup/plan-file.ts'
import { safeBatchText } from '../../src/setup/safe-batch.ts'
import { contractFacts } from '../../src/setup/status.ts'
import type { Step } from '../../src/setup/step.ts'
import { carryOut, type SetupPoint } from '../../src/setup/step-runner.ts'
import { type Fact, verifyCode } from '../../src/setup/verify.ts'
import { type SetupDesk, setupDesk, someAddress } from './desk.ts'

class Killed extends Error {}

const wrong = (facts: readonly Fact[]) => facts.filter(({ isRight }) => !isRight)

function factsOf({ rpc, terms }: Pick<SetupDesk, 'rpc' | 'terms'>) {
  const { sale, craft } = terms
  const keys = { minter: sale?.minter ?? null, crafter: craft?.crafter ?? null }
  return contractFacts(rpc, { places: placesOf(birthsOf(terms)), terms, ...keys })
}

/** Runs it until it is through, and dies once at each of these points of each step. Returns how often it died. */
async function runDying(
  { rpc, crew }: SetupDesk,
  steps: readonly Step[],
  points: readonly SetupPoint[],
): Promise<number> {
  const passed = new Set<string>()
  let step = ''
  const watched = steps.map((one) => ({
    ...one,
    isDone(on: typeof rpc) {
      step = one.id
      return one.isDone(on)
    },
  }))
  const reached = (point: SetupPoint) => {
    if (!points.includes(point) || passed.has(`${step} ${point}`)) return
    passed.add(`${step} ${point}`)
    throw new Killed()
  }
  for (;;) {
    try {
      await carryOut(crew({ reached }), watched)
      return passed.size
    } catch (error) {
      if (!(error instanceof Killed)) throw error
    }
  }
}

test('a deployment that is killed at every point of every step is finished by running it again, and sends nothing twice', async (t) => {
  const desk = await setupDesk(t)
  const steps = deploymentSteps(desk.terms)
  assert.equal(await runDying(desk, steps, ['signed', 'journaled', 'broadcast']), steps.length * 3)
  assert.equal(await desk.sent(), steps.length)
  assert.deepEqual(wrong(await factsOf(desk)), [])
  assert.ok(!existsSync(desk.sendsPath), 'nothing is in flight')
})

test('killed between the block and the note of it, it sees by the chain that the step is done', async (t) => {
  const desk = await setupDesk(t)
  const steps = deploymentSteps({ ...desk.terms, craft: null, owner: desk.terms.admin })
  assert.equal(await runDying(desk, steps, ['mined']), steps.length)
  assert.equal(await desk.sent(), steps.length)
  assert.ok(!existsSync(desk.sendsPath), 'nothing is in flight')
})

test('signed bytes are on the disk before they leave, and it is those that land', async (t) => {
  const desk = await setupDesk(t)
  const [first] = deploymentSteps(desk.terms)
  const reached = (point: SetupPoint) => {
    if (point === 'journaled') throw new Killed()
  }
  await assert.rejects(carryOut(desk.crew({ reached }), [first!]), Killed)
  const [written] = Object.values(
    JSON.parse(readFileSync(desk.sendsPath, 'utf8')) as Record<string, { versions: { hash: Hex }[] }>,
  )
  const { hash } = written!.versions[0]!
  assert.equal(await desk.ask('eth_getTransactionByHash', hash), null, 'it has not left')
  // Another signature of the same step would offer other fees, and so have another hash.
  await desk.ask('dev_setBaseFee', '0x1')
  const [done] = await carryOut(desk.crew(), [first!])
  assert.equal(done!.transaction, hash)
})

test('a finished deployment is seen by the chain alone: without any file nothing is sent again', async (t) => {
  const desk = await setupDesk(t)
  const steps = deploymentSteps(desk.terms)
  await carryOut(desk.crew(), steps)
  const before = await desk.sent()
  const again = await carryOut(desk.crew(), steps)
  assert.ok(again.every(({ transaction }) => transaction === null))
  assert.equal(await desk.sent(), before)
})

test('the deployer keeps nothing, or the lots if it is told so', async (t) => {
  const desk = await setupDesk(t)
  const terms = { ...desk.terms, lotManager: desk.terms.admin }
  await carryOut(desk.crew(), deploymentSteps(terms))
  const facts = await factsOf({ rpc: desk.rpc, terms })
  assert.deepEqual(wrong(facts), [])
  const manager = facts.find(({ what }) => what === 'lot-manager of sale')
  assert.equal(manager?.detail, `${terms.owner}, ${terms.admin}`)
  // Told apart from a deployer that kept what it should not have.
  const strict = await factsOf(desk)
  assert.deepEqual(
    wrong(strict).map(({ what }) => what),
    ['lot-manager of sale'],
  )
})

test('what was signed at fees that no block takes any more is signed again for more, at the same nonce', async (t) => {
  const desk = await setupDesk(t)
  const [first] = deploymentSteps(desk.terms)
  const dying = desk.crew({
    reached(point: SetupPoint) {
      if (point === 'journaled') throw new Killed()
    },
  })
  await assert.rejects(carryOut(dying, [first!]), Killed)
  await desk.ask('dev_setBaseFee', '0x174876e800')
  await carryOut(desk.crew(), [first!])
  assert.equal(await desk.sent(), 1)
})

test('a stranger that takes the nonce of a signed step only costs another signature', async (t) => {
  const desk = await setupDesk(t)
  const [first] = deploymentSteps(desk.terms)
  const dying = desk.crew({
    reached(point: SetupPoint) {
      if (point === 'journaled') throw new Killed()
    },
  })
  await assert.rejects(carryOut(dying, [first!]), Killed)
  const fees = { maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 1n }
  const { raw } = await dying.wallet.signCall({ to: dying.wallet.address, data: '0x', gas: 50_000n }, 0, fees, 84532)
  await desk.ask('eth_sendRawTransaction', raw)
  await carryOut(desk.crew(), [first!])
  assert.equal(await desk.sent(), 2)
  assert.ok(await first!.isDone(desk.rpc))
})

test('nothing is sent by whoever cannot pay for all of it, and the amount is named', async (t) => {
  const desk = await setupDesk(t)
  await desk.ask('dev_setBalance', desk.terms.admin, '0x1')
  await assert.rejects(assertAffordable(desk.crew(), deploymentSteps(desk.terms)), (error) => {
    assert.ok(error instanceof SetupFault && error.code === 'no_gas')
    assert.match(error.message, /nothing was sent\. Send 0\.\d{6} or more to that address/)
    return true
  })
})

test('a journal that cannot be read stops everything', async (t) => {
  const desk = await setupDesk(t)
  writeFileSync(desk.sendsPath, '{"deploy sale": {"nonce": "first"}}')
  assert.throws(() => desk.crew(), /nothing was sent\. Move it away/)
})

test('where the factory is missing, or is another, nothing is deployed', async (t) => {
  const desk = await setupDesk(t)
  await assertFactory(desk.rpc)
  const without = { ...desk.rpc, request: async () => '0x' as never }
  await assert.rejects(assertFactory(without), /has no CREATE2 factory/)
})

/** A Safe makes the calls of a batch in their order, as itself; so does this key. */
async function execute(desk: SetupDesk, key: Hex, text: string): Promise<void> {
  const account = privateKeyToAccount(key)
  const request = ({ method, params }: { method: string; params?: unknown }) =>
    desk.ask(method, ...((params as unknown[]) ?? []))
  const client = createWalletClient({ account, chain: baseSepolia, transport: custom({ request }) })
  const { transactions } = JSON.parse(text) as { transactions: { to: Hex; value: string; data: Hex }[] }
  for (const { to, value, data } of transactions) await client.sendTransaction({ to, value: BigInt(value), data })
}

test('what is written for a Safe deploys the same contracts when the Safe executes it', async (t) => {
  const desk = await setupDesk(t)
  const { key, address: safe } = await desk.funded()
  const terms = { ...desk.terms, admin: safe, owner: safe }
  const text = safeBatchText({
    chainId: 84532,
    name: 'Contracts',
    description: 'all',
    createdAt: 1,
    calls: deploymentSteps(terms).map(({ act }) => act),
  })
  const file = JSON.parse(text) as Record<string, unknown> & { transactions: Record<string, unknown>[] }
  assert.deepEqual([file['version'], file['chainId'], file.transactions.length], ['1.0', '84532', 6])
  assert.deepEqual(Object.keys(file.transactions[0]!), [
    'to',
    'value',
    'data',
    'contractMethod',
    'contractInputsValues',
  ])
  await execute(desk, key.reveal() as Hex, text)
  assert.deepEqual(wrong(await factsOf({ rpc: desk.rpc, terms })), [])
})

test('roles are given and taken, contracts paused and opened, each only by whoever may', async (t) => {
  const desk = await setupDesk(t)
  const terms = { ...desk.terms, owner: desk.terms.admin }
  await carryOut(desk.crew(), deploymentSteps(terms))
  const place = placesOf(birthsOf(terms)).find(({ name }) => name === 'sale') as RolePlace
  const account = someAddress()
  const grant = grantStep({ place, role: 'minter', account })
  const stranger = createWallet((await desk.funded()).key)
  await assert.rejects(carryOut(desk.crew({ wallet: stranger }), [grant]), (error) => {
    assert.ok(error instanceof SetupFault && error.code === 'not_allowed')
    assert.match(error.message, /has not the role on 0x.* nothing was sent/)
    return true
  })
  assert.ok(!existsSync(desk.sendsPath))
  // Given, taken and given again: what was in flight once does not count the second time.
  for (const step of [grant, revokeStep({ place, role: 'minter', account }), grant]) {
    const [done] = await carryOut(desk.crew(), [step])
    assert.notEqual(done!.transaction, null, step.id)
    assert.ok(await step.isDone(desk.rpc), step.id)
  }
  for (const verb of ['pause', 'unpause'] as const) {
    await carryOut(desk.crew(), [pauseStep(place, verb)])
    const open = (await factsOf({ rpc: desk.rpc, terms })).find(({ what }) => what === 'sale')
    assert.equal(open?.detail, verb === 'pause' ? 'is paused' : 'is open')
  }
})

test('other code at the address of a contract is told, and so is a wrong word that a constructor filled in', async (t) => {
  const desk = await setupDesk(t)
  await carryOut(desk.crew(), deploymentSteps(desk.terms))
  const places = placesOf(birthsOf(desk.terms))
  const swapped = places.map(({ name }, index) => ({ name, address: places[1 - index]!.address }))
  const look = (terms: typeof desk.terms | null, at: readonly RolePlace[]) =>
    contractFacts(desk.rpc, { places: at, terms, minter: null, crafter: null })
  const codes = (facts: readonly Fact[]) =>
    facts.filter(({ what }) => what.startsWith('code')).map((one) => one.isRight)
  assert.deepEqual(codes(await look(null, places)), [true, true])
  assert.deepEqual(codes(await look(null, swapped)), [false, false])
  const birth = birthsOf(desk.terms).find(({ name }) => name === 'craft')!
  assert.ok((await verifyCode(desk.rpc, birth)).isRight)
  const other = { ...birth, immutables: [`0x${birth.address.slice(2).padStart(64, '0')}` as Hex] }
  assert.ok(!(await verifyCode(desk.rpc, other)).isRight)
})

test('the plan of a deployment is not overwritten, and a different one is refused by what differs', async (t) => {
  const desk = await setupDesk(t)
  const path = `${desk.sendsPath}.plan`
  savePlan(path, desk.terms)
  const before = readFileSync(path, 'utf8')
  assert.throws(
    () => savePlan(path, { ...desk.terms, owner: someAddress(), salt: `0x${'00'.repeat(32)}` }),
    /differs in salt, owner; nothing was sent/,
  )
  assert.equal(readFileSync(path, 'utf8'), before)
  assert.deepEqual(savePlan(path, desk.terms), { terms: desk.terms, isDone: false })
  markDone(path, { terms: desk.terms, isDone: false })
  assert.equal(readPlan(path)?.isDone, true)
})
