import { Challenge, Credential as MppCredential } from 'mppx'
import { concat, encodeFunctionData, erc20Abi, keccak256, slice, toBytes } from 'viem'
import { testTip20 } from '../../../src/artifacts/TestTip20.ts'
import type { Address } from '../../../src/base/address.ts'
import type { Hex } from '../../../src/base/hex.ts'
import { PATH_USD_ADDRESS } from '../../../src/devchain/rules.ts'
import { signTempo, type TempoFields } from '../../devchain/tempo-signing.ts'
import type { Credential, Purchase } from '../book.ts'
import { type Chance, chanceOf } from '../chance.ts'
import { countOther } from '../coverage.ts'
import { goodCalled } from '../goods.ts'
import { reorganise } from '../reorganisation.ts'
import type { Heard } from '../request.ts'
import type { Actor } from '../scheduler.ts'
import type { Universe } from '../universe.ts'
import { balanceOf, type Way, ways } from '../wallet.ts'
import { ENEMY, type Payer, VICTIM } from '../world.ts'
import { sendAuthorization } from './facilitator.ts'
import { ask, pay } from './payer.ts'

export const MOVES = [
  'front-run',
  'drain',
  'two bodies',
  'many promises',
  'allowance',
  'nothing',
  'early',
  'gap',
  'unknown',
  'no memo',
  'stray',
  'dust',
  'forgotten',
] as const
export type Move = (typeof MOVES)[number]

const EXPIRING = 2n ** 256n - 1n
const SHOWS = 4
const PROMISES = 4
const DUST = 12
/** As long as the stock client gives it. */
const LIFE_MS = 25_000

/** Some universes have an enemy, who knows one trick. */
export function enemyOf(
  seed: number,
  payers: readonly Payer[],
  /** There is one, and this is the trick. */
  named: Move | undefined,
): { readonly purchase: Purchase; readonly move: Move } | null {
  const chance = chanceOf(seed, 'enemy')
  if (!chance.happens(0.4) && !named) return null
  const move = named ?? chance.pick(MOVES)
  const rail = X402_MOVES.has(move) ? 'x402' : 'mpp push'
  const good = goodCalled(move === 'allowance' ? 'burn' : 'lot 392')
  const way = ways.find(({ name }) => name === rail) as Way
  const payer = payers[ENEMY]!
  const startMs = chance.below(4_000)
  const habit = TRUTH_OWED.has(move) ? 'honest' : 'enemy'
  const canLand = !UNLANDABLE.has(move)
  const own = { index: ENEMY, payer, good, way, habit, carrier: 'http', startMs, canLand } as const
  return {
    purchase: { ...own, credentials: [], strays: 0, paidWhenGiven: 0, isShownAgain: TRUTH_OWED.has(move) },
    move,
  }
}

const X402_MOVES: ReadonlySet<Move> = new Set(['front-run', 'drain', 'two bodies', 'many promises'])
/** Odd, and yet nobody may tell them what is not true. */
const TRUTH_OWED: ReadonlySet<Move> = new Set(['early', 'no memo', 'forgotten'])
/** Nothing of these ever becomes a payment, so nothing may be kept for it. */
const UNLANDABLE: ReadonlySet<Move> = new Set(['nothing', 'gap', 'unknown'])

export async function attack(universe: Universe, purchase: Purchase, move: Move, actor: Actor): Promise<void> {
  const { sim, seed, coverage } = universe
  const chance = chanceOf(seed, 'enemy at the counter')
  await sim.clockOf(actor).sleep(purchase.startMs)
  const unpaid = await ask(universe, asVictim(universe, purchase, move), actor, null, chance)
  if (unpaid?.status !== 402) return
  countOther(coverage, `enemy ${move}`)
  if (purchase.way.rail === 'x402') await attackX402(universe, purchase, move, actor, unpaid, chance)
  else await attackMpp(universe, purchase, move, actor, unpaid, chance)
}

/** What is bought with somebody's allowance is asked for in their name. */
function asVictim({ world }: Universe, purchase: Purchase, move: Move): Purchase {
  return move === 'allowance' ? { ...purchase, payer: world.payers[VICTIM]! } : purchase
}

async function attackX402(
  universe: Universe,
  purchase: Purchase,
  move: Move,
  actor: Actor,
  unpaid: Heard,
  chance: Chance,
): Promise<void> {
  const { sim, world } = universe
  const credential = await pay(universe, purchase, actor, unpaid)
  if (!credential) return
  const others = move === 'many promises' ? await promises(universe, purchase, actor, chance) : []
  const show = (good = purchase.good) => ask(universe, { ...purchase, good }, actor, credential, chance)
  const meanwhile = async () => {
    await sim.clockOf(actor).sleep(chance.below(300))
    if (move === 'front-run')
      await sim.work(() => sendAuthorization(world.native, payloadOf(credential))).catch(() => {})
    if (move === 'drain' || move === 'many promises')
      await sim.work(() => drain(universe, purchase.payer)).catch(() => {})
    if (move === 'two bodies') await show(goodCalled('lot 399'))
  }
  const more = others.map((other) => ask(universe, purchase, actor, other, chance))
  await Promise.all([show(), ...more, meanwhile()])
  for (let again = 0; again < SHOWS; again++) {
    await sim.clockOf(actor).sleep(3_000)
    await show()
  }
}

/** The same money, promised again and again. */
async function promises(universe: Universe, purchase: Purchase, actor: Actor, chance: Chance): Promise<Credential[]> {
  const made: Credential[] = []
  for (let nth = 0; nth < PROMISES; nth++) {
    const unpaid = await ask(universe, purchase, actor, null, chance)
    const credential = unpaid?.status === 402 ? await pay(universe, purchase, actor, unpaid) : null
    if (credential) made.push(credential)
  }
  return made
}

function payloadOf({ value }: Credential) {
  return { paymentPayload: JSON.parse(Buffer.from(value, 'base64').toString()) }
}

/** All the money of the payer goes elsewhere, while the shop believes in it. */
async function drain({ world }: Universe, { account, address }: Payer): Promise<void> {
  const { native, config } = world
  const asset = config.x402!.asset
  const balance = await balanceOf(native, asset, address)
  const nonce = Number(await native.ask({ method: 'eth_getTransactionCount', params: [address, 'pending'] }))
  const elsewhere = world.payers[VICTIM]!.address
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [elsewhere, balance] })
  const fees = { maxFeePerGas: 10n ** 12n, maxPriorityFeePerGas: 0n, gas: 100_000n }
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: native.chainId,
    nonce,
    to: asset,
    data,
    ...fees,
  })
  await native.ask({ method: 'eth_sendRawTransaction', params: [raw] })
}

type Asked = { readonly id: string; readonly realm: string; readonly request: { amount: string; recipient: Address } }

async function attackMpp(
  universe: Universe,
  purchase: Purchase,
  move: Move,
  actor: Actor,
  { status, headers }: Heard,
  chance: Chance,
): Promise<void> {
  const { sim, world } = universe
  const challenge = Challenge.fromResponse(new Response(null, { status, headers })) as unknown as Asked
  if (move === 'stray' || move === 'dust') return sendStrays(universe, purchase, challenge, move)
  const raw = forged(universe, purchase.payer, challenge, move)
  const payload = move === 'gap' ? { type: 'transaction', signature: raw } : { type: 'hash', hash: keccak256(raw) }
  const value = MppCredential.serialize({ challenge, payload } as never)
  const credential: Credential = { value, answers: [], isUnderWay: 0, hasEnd: false }
  purchase.credentials.push(credential)
  const show = () => ask(universe, asVictim(universe, purchase, move), actor, credential, chance)
  const send = () =>
    sim
      .work(() => world.tempo.ask({ method: 'eth_sendRawTransaction', params: [raw] }))
      .catch((error: Error) => sim.note(`${actor.name} could not send: ${error.message}`))
  // What it moves is somebody else's.
  if (move === 'allowance') purchase.strays++
  if (move === 'forgotten') return beForgotten(universe, purchase, actor, { raw, show, send })
  if (move === 'nothing') purchase.isShownAgain = true
  if (move === 'no memo' || move === 'allowance' || (move === 'nothing' && chance.happens(0.5))) await send()
  for (let again = 0; again < SHOWS; again++) {
    await show()
    await sim.clockOf(actor).sleep(3_000)
    if (again === 1 && (move === 'early' || move === 'nothing')) await send()
  }
}

/** Money that nobody ever shows: a lot at once, or next to nothing many times. */
async function sendStrays(universe: Universe, purchase: Purchase, challenge: Asked, move: Move): Promise<void> {
  const { sim, world } = universe
  for (let nth = 0; nth < (move === 'dust' ? DUST : 1); nth++) {
    const raw = forged(universe, purchase.payer, challenge, move, nth)
    const sent = await sim
      .work(() => world.tempo.ask({ method: 'eth_sendRawTransaction', params: [raw] }))
      .catch(() => null)
    if (sent !== null) purchase.strays++
  }
}

type Forgotten = { readonly raw: Hex; show(): Promise<Heard | null>; send(): Promise<unknown> }

const PEEK_MS = 20
const PEEKS_MAX = 400
const HELD_MS = 2_000
/** Longer than a challenge lives, and than anybody doubts afterwards. */
const LONG_AFTER_MS = 420_000

/** Paid and shown; the chain forgets it before it counts, and takes it again when its order has long been given up. */
async function beForgotten(universe: Universe, { payer }: Purchase, actor: Actor, { raw, show, send }: Forgotten) {
  const { sim, world, store } = universe
  const clock = sim.clockOf(actor)
  const hash = keccak256(raw)
  await send()
  await clock.sleep(2 * world.tempo.blockMs)
  universe.hold('at settle.begun', HELD_MS)
  const first = show()
  const isOpen = async () => {
    const { rows } = await store.db.query('select 1 from orders where lower(payer) = lower($1)', [payer.address])
    return rows.length > 0
  }
  for (let peek = 0; peek < PEEKS_MAX && !(await sim.work(isOpen)); peek++) await clock.sleep(PEEK_MS)
  await sim.work(() => forget(universe, hash))
  await first
  await clock.sleep(LONG_AFTER_MS)
  await send()
  for (let again = 0; again < 3; again++) {
    await clock.sleep(3_000)
    await show()
  }
}

async function forget(universe: Universe, hash: Hex): Promise<void> {
  const { tempo } = universe.world
  const receipt = await tempo.ask({ method: 'eth_getTransactionReceipt', params: [hash] })
  if (!receipt) return
  const depth =
    Number(await tempo.ask({ method: 'eth_blockNumber' })) - Number((receipt as { blockNumber: Hex }).blockNumber)
  await reorganise(universe, { chain: 'tempo', depth: depth + 1, drop: [hash] })
}

/** A signed transaction as no honest client makes it. */
function forged({ sim, world }: Universe, { key }: Payer, { id, realm, request }: Asked, move: Move, nth = 0): Hex {
  const { amount, recipient } = request
  const memo = memoOf(realm, id)
  const value = move === 'nothing' ? 0n : move === 'dust' ? 1n : BigInt(amount)
  const isPlain = move === 'no memo' || move === 'stray' || move === 'dust'
  const data =
    move === 'allowance'
      ? encodeFunctionData({
          abi: testTip20.abi,
          functionName: 'transferFromWithMemo',
          args: [world.payers[VICTIM]!.address, recipient, value, memo],
        })
      : isPlain
        ? encodeFunctionData({ abi: testTip20.abi, functionName: 'transfer', args: [recipient, value] })
        : encodeFunctionData({ abi: testTip20.abi, functionName: 'transferWithMemo', args: [recipient, value, memo] })
  const calls = [{ to: PATH_USD_ADDRESS, data }]
  // Without an end it can land whenever somebody sends it.
  if (move === 'forgotten') return signTempo(key, { calls, nonceKey: 0n, nonce: 0n })
  const fields: TempoFields = {
    calls,
    nonceKey: move === 'gap' ? 0n : EXPIRING,
    nonce: move === 'gap' ? 5n : 0n,
    // Two that are alike are one; a second apart they are two.
    validBefore: Math.floor((sim.now() + LIFE_MS) / 1000) - nth,
  }
  return signTempo(key, fields)
}

/** Tag, version, realm, client, challenge. */
function memoOf(realm: string, id: string): Hex {
  const print = (text: string, length: number) => slice(keccak256(toBytes(text)), 0, length)
  return concat([print('mpp', 4), '0x01', print(realm, 10), '0x00000000000000000000', print(id, 7)])
}
