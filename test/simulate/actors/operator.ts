import type { Address } from '../../../src/base/address.ts'
import { Secret } from '../../../src/base/secret.ts'
import { type Chance, chanceOf } from '../chance.ts'
import { countOther } from '../coverage.ts'
import type { Fault } from '../faults.ts'
import { ledgerOf } from '../ledger.ts'
import type { Asked } from '../request.ts'
import type { Actor } from '../scheduler.ts'
import type { Universe } from '../universe.ts'
import { isAsOrdered } from './game.ts'
import { RECEIVER_URL } from './receiver.ts'

export const OPERATOR_TOKEN = new Secret('the-token-of-whoever-runs-this-universe')

type Deed = Extract<Fault, { kind: 'operator' }>['deed']
type Listed = { readonly orderId: string; readonly status: string; readonly good: string }
type Item = { readonly kind: string; readonly id: string }
/** What reconciliation says about one receiving account, in atomic units. */
export type Report = {
  readonly network: string
  readonly asset: Address
  readonly payTo: Address
  readonly difference: string
  readonly items: readonly Item[]
}

/** Somebody who runs the shop, and does the right things at bad moments. */
export type Operator = {
  readonly actor: Actor
  /** Puts a receiver of events on the list. */
  register(): Promise<void>
  do(deed: Deed): Promise<void>
  /** What nobody but a person decides. */
  tidyUp(): Promise<void>
  reconcile(): Promise<readonly Report[] | null>
}

export function createOperator(universe: Universe): Operator {
  const { sim, seed, game } = universe
  const actor = sim.actor('operator')
  const chance: Chance = chanceOf(seed, 'operator')

  async function call<Body>(method: string, path: string, body?: unknown): Promise<Body | null> {
    const headers = { authorization: `Bearer ${OPERATOR_TOKEN.reveal()}` }
    const asked: Asked = { method, path, headers, ...(body === undefined ? {} : { body }) }
    const timer = new AbortController()
    const patience = sim
      .clockOf(actor)
      .sleep(30_000, timer.signal)
      .then(() => null)
    const heard = await Promise.race([universe.fleet.ask(chance, actor, asked, '10.9.9.9'), patience])
    timer.abort()
    await sim.point(actor, `heard ${heard?.status ?? 'nothing'}`)
    return heard && heard.status < 300 ? (JSON.parse(heard.text) as Body) : null
  }

  /** By payer: how much had gone back when this operator first sent something back, with what they sent since, landed or not. */
  const sentBack = new Map<string, number>()

  async function list(query: string): Promise<readonly Listed[]> {
    return (await call<{ orders: readonly Listed[] }>('GET', `/operator/orders${query}`))?.orders ?? []
  }

  /** What the game's own ledger says, and nothing else. */
  async function decide({ orderId }: Listed): Promise<void> {
    const isGiven = game?.ledger.some((given) => given.orderId === orderId && isAsOrdered(given))
    const outcome = isGiven ? 'delivered' : 'not_delivered'
    await call('POST', `/operator/orders/${orderId}/decide`, { outcome, by: 'somebody' })
  }

  const deeds: Record<Deed, () => Promise<unknown>> = {
    async retry() {
      const open = await list('?open=true')
      if (open.length > 0) await call('POST', `/operator/orders/${chance.pick(open).orderId}/retry`)
    },
    async refund() {
      const sold = await list('?status=confirmed')
      if (sold.length > 0)
        await call('POST', `/operator/orders/${chance.pick(sold).orderId}/refund`, {
          reason: 'a gesture',
          by: 'somebody',
        })
    },
    async decide() {
      for (const order of await list('?open=true')) if (order.good === 'shopItem') await decide(order)
    },
    reconcile: () => call('POST', '/operator/reconcile'),
    async price() {
      game?.changePrice()
      const price = chance.pick([null, '0.02', '0.50'])
      for (const good of ['healthProbe', 'playerLookup', 'burn'])
        await call('POST', `/operator/prices/${good}`, { price, by: 'somebody' })
    },
    async hide() {
      const hidden = chance.happens(0.7)
      await call('POST', '/operator/lots/392', { hidden, by: 'somebody' })
    },
  }

  /** Money that nobody can tell what it is for: whoever got something for it does not get it back. */
  async function decideHeld(id: string): Promise<void> {
    const found = await call<{ transfers: readonly { payer: string }[] }>('GET', `/operator/transfers/${id}`)
    const sender = found?.transfers[0]?.payer
    // Whoever has not heard whose money it is decides nothing yet.
    if (sender === undefined) return
    const purchase = universe.purchases.find(({ payer }) => payer.address.toLowerCase() === sender.toLowerCase())
    const known = purchase && (await sim.work(() => ledgerOf(universe, purchase)))
    const { paid, back, delivered } = known ?? { paid: [id], back: [], delivered: 0 }
    const gone = Math.max(back.length, sentBack.get(sender) ?? 0)
    const decision = paid.length - delivered - gone > 0 ? 'refund' : 'keep'
    if (await call('POST', `/operator/transfers/${id}`, { decision, by: 'somebody' }))
      if (decision === 'refund') sentBack.set(sender, gone + 1)
  }

  async function reconcile() {
    return (await call<{ accounts: readonly Report[] }>('POST', '/operator/reconcile'))?.accounts ?? null
  }

  return {
    actor,
    async register() {
      for (let tries = 0; tries < 20; tries++) {
        // When an answer is lost there are two of them in the end, each with an order of its own in which it hears.
        if (await call('POST', '/operator/webhooks', { url: `${RECEIVER_URL}?try=${tries}` })) return
        await sim.clockOf(actor).sleep(1_000)
      }
    },
    async do(deed) {
      countOther(universe.coverage, `operator ${deed}`)
      await deeds[deed]()
    },
    async tidyUp() {
      if (game) await deeds.decide()
      for (const { items } of (await reconcile()) ?? []) {
        for (const { kind, id } of items) if (kind === 'held') await decideHeld(id)
      }
    },
    reconcile,
  }
}
