import { Credential as MppCredential } from 'mppx'
import type { Credential, Purchase, Told } from '../book.ts'
import { toldOf } from '../book.ts'
import { overHttp, overMcp } from '../carrier.ts'
import { type Chance, chanceOf } from '../chance.ts'
import { type Good, goodsPassing } from '../goods.ts'
import type { Asked, Heard } from '../request.ts'
import type { Actor } from '../scheduler.ts'
import type { Universe } from '../universe.ts'
import { ways } from '../wallet.ts'
import type { Payer } from '../world.ts'

const ROUNDS_MAX = 14
const PATIENCE_MS = 20_000
const PAUSE_MS = 2_000
const PAYMENTS_MAX = 2

/** Who buys what, how and when: each by a chance of their own, so that one can be left out. */
export function purchasesOf(
  seed: number,
  goods: readonly Good[],
  payers: readonly Payer[],
  /** Somebody should pass it. */
  label: string | null,
): readonly Purchase[] {
  const all = chanceOf(seed, 'payers')
  const count = 1 + all.below(4)
  return payers.slice(0, count).map((payer, index): Purchase => {
    const chance = chanceOf(seed, `payer ${index}`)
    const good = chance.pick(index === 0 && label !== null ? goodsPassing(label, goods) : goods)
    return {
      index,
      payer,
      good,
      way: chance.pick(ways.filter(({ rail }) => good.rails.includes(rail))),
      habit: chance.happens(0.7) ? 'honest' : 'careless',
      startMs: chance.below(4_000),
      carrier: chance.happens(0.25) ? 'mcp' : 'http',
      credentials: [],
      strays: 0,
      paidWhenGiven: 0,
      isShownAgain: true,
    }
  })
}

/** Pays every 402 once, and shows the same payment until there is an end. */
export async function buy(universe: Universe, purchase: Purchase, actor: Actor): Promise<void> {
  const { sim, seed } = universe
  const clock = sim.clockOf(actor)
  const chance = chanceOf(seed, `payer ${purchase.index} at the counter`)
  await clock.sleep(purchase.startMs)
  let credential: Credential | null = null
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const heard = await show(universe, purchase, actor, credential, chance)
    const told = heard && toldOf(heard, sim.now())
    if (told && isEnd(told, credential)) {
      if (purchase.habit === 'careless' && credential && chance.happens(0.5))
        await show(universe, purchase, actor, credential, chance)
      return
    }
    if (heard?.status === 402) {
      if (purchase.credentials.length >= PAYMENTS_MAX) return
      credential = await pay(universe, purchase, actor, heard)
      if (!credential) return
    } else await clock.sleep(PAUSE_MS)
  }
}

/** Whoever has not heard the end of it asks once more when all is over. */
export async function askForTheEnd(universe: Universe): Promise<void> {
  const { sim, seed } = universe
  const chance = chanceOf(seed, 'at the end')
  for (const purchase of universe.purchases) {
    if (!purchase.isShownAgain) continue
    const actor = sim.actor(`payer${purchase.index} at the end`)
    for (const credential of purchase.credentials) {
      credential.hasEnd = await sim.work(() => hasLanded(universe, purchase, credential))
      if (credential.hasEnd && !isFinalAnswer(credential)) await ask(universe, purchase, actor, credential, chance)
    }
  }
}

/** What a payer sent, and the chain never took or has dropped, may come yet: nobody can say more of it. */
async function hasLanded({ world }: Universe, { way }: Purchase, { value }: Credential): Promise<boolean> {
  if (way.name !== 'mpp push') return true
  const { hash } = MppCredential.deserialize(value).payload as { hash?: string }
  return (await world.tempo.ask({ method: 'eth_getTransactionReceipt', params: [hash] })) !== null
}

/** Has somebody who showed this payment heard what became of it? */
export function isFinalAnswer({ answers }: Credential): boolean {
  const last = answers.at(-1)
  return last !== undefined && (last.status === 402 || isEnd(last, null))
}

/** One request with this payment, or, by somebody careless, two at once. */
async function show(
  universe: Universe,
  purchase: Purchase,
  actor: Actor,
  credential: Credential | null,
  chance: Chance,
): Promise<Heard | null> {
  const isDoubled = credential !== null && purchase.habit === 'careless' && chance.happens(0.5)
  const asks = Array.from({ length: isDoubled ? 2 : 1 }, () => ask(universe, purchase, actor, credential, chance))
  return (await Promise.all(asks)).at(-1) ?? null
}

export async function ask(
  universe: Universe,
  { index, payer, good, way, carrier }: Purchase,
  actor: Actor,
  credential: Credential | null,
  chance: Chance,
): Promise<Heard | null> {
  const { sim } = universe
  const asked = good.ask(way.rail, payer)
  const shown = credential && { way, value: credential.value }
  const { request, read } = carrier === 'mcp' ? overMcp(good.tool, asked, shown) : overHttp(asked, shown)
  if (credential) credential.isUnderWay++
  const answered = async (wanted: Asked) => {
    const timer = new AbortController()
    const answer = await Promise.race([
      universe.fleet.ask(chance, actor, wanted, `10.0.0.${index + 1}`),
      sim
        .clockOf(actor)
        .sleep(PATIENCE_MS, timer.signal)
        .then(() => null),
    ])
    timer.abort()
    return answer
  }
  const answer = await answered(request)
  const first = answer && read(answer)
  const status = first && statusPathOf(first)
  const elsewhere = status ? await answered({ method: 'GET', path: status, headers: {} }) : null
  const heard = elsewhere && [200, 409].includes(elsewhere.status) ? asConflict(elsewhere) : first
  await sim.point(actor, `heard ${heard?.status ?? 'nothing'}`)
  const told = heard && toldOf(heard, sim.now())
  if (told?.code) sim.note(`${actor.name} was told ${told.code}, taken: ${told.taken}`)
  if (credential) credential.isUnderWay--
  if (credential && told) credential.answers.push(told)
  return heard
}

/** A conflict that does not know what became of the payment names the address that tells. */
function statusPathOf({ status, text }: Heard): string | null {
  if (status !== 409) return null
  const { retry, payment } = JSON.parse(text) as {
    readonly retry?: { readonly statusUrl?: string }
    readonly payment?: { readonly taken: unknown }
  }
  return payment?.taken === 'unknown' && retry?.statusUrl ? new URL(retry.statusUrl).pathname : null
}

/** What the address tells of an order that was delivered is a success; of any other it is a conflict, of which the address says how it ended. */
function asConflict(told: Heard): Heard {
  const body = JSON.parse(told.text) as { readonly code?: string; readonly boundTo?: { readonly status: string } }
  const { code = 'told_elsewhere', boundTo } = body
  return boundTo?.status === 'confirmed' ? told : { ...told, status: 409, text: JSON.stringify({ ...body, code }) }
}

export async function pay(
  { sim, world }: Universe,
  purchase: Purchase,
  actor: Actor,
  unpaid: Heard,
): Promise<Credential | null> {
  await sim.point(actor, `pays by ${purchase.way.name}`)
  // A client that cannot pay, because its chain is silent or its fees too high, has paid nothing.
  const value = await sim
    .work(() => purchase.way.pay(world, purchase.payer, unpaid))
    .catch((error: Error) => {
      sim.note(`${actor.name} could not pay: ${error.message.split('\n')[0]}`)
      return null
    })
  if (value === null) return null
  const credential: Credential = { value, answers: [], isUnderWay: 0, hasEnd: false }
  purchase.credentials.push(credential)
  return credential
}

function isEnd({ status, code, taken }: Told, credential: Credential | null): boolean {
  if (status === 200) return true
  if (status === 402 || status === 202 || status === 429 || status >= 500) return false
  if (status === 409 && taken === 'unknown') return false
  return credential !== null || code !== null
}
