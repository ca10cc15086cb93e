import { until } from '../support/until.ts'
import { buy, type Kind, type Protocol, type Purchase, type Wish } from './purchases.ts'
import type { Stage } from './stage.ts'

/** Agents, one after another on each protocol, who each buy one thing. */
export type Buyers = {
  /** All that was tried, whatever came of it. */
  readonly purchases: readonly Purchase[]
  /** Every wish at once; each must be fulfilled. */
  all(): Promise<void>
  /** From now on without a pause, until they are called off. */
  goOn(): void
  /** This next on each protocol, and from now on in its turn. */
  want(kind: Kind, what: string): void
  /** Waits until so many more have what they paid for. */
  more(count: number): Promise<void>
  stop(): Promise<void>
}

const PROTOCOLS: readonly Protocol[] = ['x402', 'mpp']

export function gatherBuyers(stage: Stage): Buyers {
  const purchases: Purchase[] = []
  const wishes: Readonly<Record<Protocol, Wish[]>> = {
    x402: wishesFor('x402', { lot: '1', item: 'keys:5', burn: '', health: '', report: '' }),
    mpp: wishesFor('mpp', { lot: '1', item: 'keys:5', burn: '', lookup: '' }),
  }
  let isOver = false
  let lanes: Promise<unknown> = Promise.resolve()

  const done = () => purchases.filter(({ seen }) => seen === 'done').length

  async function fulfil(wish: Wish): Promise<Purchase> {
    const purchase = await buy(stage.market(), wish)
    purchases.push(purchase)
    return purchase
  }

  async function lane(protocol: Protocol): Promise<void> {
    const { over } = stage.market()
    while (!isOver && !over.aborted) {
      const wish = wishes[protocol].shift()!
      wishes[protocol].push(wish)
      await fulfil(wish)
    }
  }

  return {
    purchases,
    async all() {
      const wanted = PROTOCOLS.flatMap((protocol) => wishes[protocol])
      for (const { kind, protocol, status, body } of await Promise.all(wanted.map(fulfil)))
        if (status !== 200) throw new Error(`${kind} by ${protocol} ended with ${status}: ${body}`)
    },
    goOn() {
      lanes = Promise.all(PROTOCOLS.map(lane))
      // Told to whoever waits for them next.
      lanes.catch(() => {})
    },
    want(kind, what) {
      for (const protocol of PROTOCOLS) {
        const others = wishes[protocol].filter((wish) => wish.kind !== kind || wish.what !== what)
        wishes[protocol].splice(0, Number.POSITIVE_INFINITY, { kind, protocol, what }, ...others)
      }
    },
    async more(count) {
      const enough = done() + count
      await Promise.race([until(() => done() >= enough), lanes])
    },
    async stop() {
      isOver = true
      await lanes
    },
  }
}

function wishesFor(protocol: Protocol, list: Readonly<Partial<Record<Kind, string>>>): Wish[] {
  return (Object.entries(list) as [Kind, string][]).map(([kind, what]) => ({ kind, protocol, what }))
}
