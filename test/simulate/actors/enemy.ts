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
import type { Heard } from '../request.ts'
import type { Actor } from '../scheduler.ts'
import type { Universe } from '../universe.ts'
import { type Way, ways } from '../wallet.ts'
import { ENEMY, type Payer, VICTIM } from '../world.ts'
import { sendAuthorization } from './facilitator.ts'
import { ask, pay } from './payer.ts'

export const MOVES = ['front-run', 'drain', 'two bodies', 'allowance', 'nothing', 'early', 'gap'] as const
export type Move = (typeof MOVES)[number]

const EXPIRING = 2n ** 256n - 1n
const SHOWS = 4
/** As long as the stock client gives it. */
const LIFE_MS = 25_000

/** Some universes have an enemy, who knows one trick. */
export function enemyOf(
  seed: number,
  payers: readonly Payer[],
): { readonly purchase: Purchase; readonly move: Move } | null {
  const chance = chanceOf(seed, 'enemy')
  if (!chance.happens(0.4)) return null
  const move = chance.pick(MOVES)
  const rail = move === 'front-run' || move === 'drain' || move === 'two bodies' ? 'x402' : 'mpp push'
  const good = goodCalled(move === 'allowance' ? 'burn' : 'lot 392')
  const way = ways.find(({ name }) => name === rail) as Way
  const payer = payers[ENEMY]!
  const startMs = chance.below(4_000)
  return { purchase: { index: ENEMY, payer, good, way, habit: 'enemy', startMs, credentials: [] }, move }
}

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
  const show = (good = purchase.good) => ask(universe, { ...purchase, good }, actor, credential, chance)
  const meanwhile = async () => {
    await sim.clockOf(actor).sleep(chance.below(300))
    if (move === 'front-run')
      await sim.work(() => sendAuthorization(world.native, payloadOf(credential))).catch(() => {})
    if (move === 'drain') await sim.work(() => drain(universe, purchase.payer)).catch(() => {})
    if (move === 'two bodies') await show(goodCalled('lot 399'))
  }
  await Promise.all([show(), meanwhile()])
  for (let again = 0; again < SHOWS; again++) {
    await sim.clockOf(actor).sleep(3_000)
    await show()
  }
}

function payloadOf({ value }: Credential) {
  return { paymentPayload: JSON.parse(Buffer.from(value, 'base64').toString()) }
}

/** All the money of the payer goes elsewhere, while the shop believes in it. */
async function drain({ world }: Universe, { account, address }: Payer): Promise<void> {
  const { native, config } = world
  const asset = config.x402!.asset
  const balanceOf = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [address] })
  const balance = BigInt(
    (await native.ask({ method: 'eth_call', params: [{ to: asset, data: balanceOf }, 'latest'] })) as Hex,
  )
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
  const raw = forged(universe, purchase.payer, challenge, move)
  const payload = move === 'gap' ? { type: 'transaction', signature: raw } : { type: 'hash', hash: keccak256(raw) }
  const value = MppCredential.serialize({ challenge, payload } as never)
  const credential: Credential = { value, answers: [], isUnderWay: 0 }
  purchase.credentials.push(credential)
  const show = () => ask(universe, asVictim(universe, purchase, move), actor, credential, chance)
  const send = () =>
    sim.work(() => world.tempo.ask({ method: 'eth_sendRawTransaction', params: [raw] })).catch(() => null)
  if (move === 'allowance' || (move === 'nothing' && chance.happens(0.5))) await send()
  for (let again = 0; again < SHOWS; again++) {
    await show()
    await sim.clockOf(actor).sleep(3_000)
    if (again === 1 && (move === 'early' || move === 'nothing')) await send()
  }
}

/** A signed transaction as no honest client makes it. */
function forged({ sim, world }: Universe, { key }: Payer, { id, realm, request }: Asked, move: Move): Hex {
  const { amount, recipient } = request
  const memo = memoOf(realm, id)
  const value = move === 'nothing' ? 0n : BigInt(amount)
  const data =
    move === 'allowance'
      ? encodeFunctionData({
          abi: testTip20.abi,
          functionName: 'transferFromWithMemo',
          args: [world.payers[VICTIM]!.address, recipient, value, memo],
        })
      : encodeFunctionData({ abi: testTip20.abi, functionName: 'transferWithMemo', args: [recipient, value, memo] })
  const fields: TempoFields = {
    calls: [{ to: PATH_USD_ADDRESS, data }],
    nonceKey: move === 'gap' ? 0n : EXPIRING,
    nonce: move === 'gap' ? 5n : 0n,
    validBefore: Math.floor((sim.now() + LIFE_MS) / 1000),
  }
  return signTempo(key, fields)
}

/** Tag, version, realm, client, challenge. */
function memoOf(realm: string, id: string): Hex {
  const print = (text: string, length: number) => slice(keccak256(toBytes(text)), 0, length)
  return concat([print('mpp', 4), '0x01', print(realm, 10), '0x00000000000000000000', print(id, 7)])
}
