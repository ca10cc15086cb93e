import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { TRANSFER } from '../../src/chain/eip3009.ts'
import type { RailName } from '../../src/domain/rail.ts'
import type { Database } from '../../src/store/db.ts'
import { type Game, isAsOrdered, PLENTY, SCARCE } from './actors/game.ts'
import type { Asked } from './request.ts'
import type { Payer, SimWorld } from './world.ts'

/** What the outside world can be asked about what somebody got. */
export type Facts = {
  readonly world: SimWorld
  readonly db: Database
  /** Null: the game is the shop's own. */
  readonly game: Game | null
}

/** Something to buy, and how the world shows that it was had. */
export type Good = {
  readonly name: string
  readonly rails: readonly RailName[]
  /** What sells it over MCP; it takes what the route takes. */
  readonly tool: string
  ask(rail: RailName, payer: Payer): Asked
  /** How often this payer has it, whatever the shop says. */
  delivered(facts: Facts, payer: Payer): Promise<number>
}

export const word = (address: Address): Hex => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
const BOTH: readonly RailName[] = ['x402', 'mpp']
const BURNED = 2

/** All, or those whose name begins so. */
export function goodsFor(game: 'embedded' | 'http', named = ''): readonly Good[] {
  const items = game === 'http' ? [PLENTY, SCARCE, SCARCE] : ['keys:5', 'founders-cloak:1']
  const all = [lot(392), lot(392), lot(399), ...items.map(item), burn, report, probe, lookup]
  return all.filter(({ name }) => name.startsWith(named))
}

/** Those of them whose purchase passes a label. */
export function goodsPassing(label: string, goods: readonly Good[]): readonly Good[] {
  const name = /game/.test(label)
    ? 'item'
    : /refund|order\.failed/.test(label)
      ? 'lot 399'
      : /send/.test(label)
        ? 'lot'
        : ''
  const found = goods.filter((good) => good.name.startsWith(name))
  return found.length > 0 ? found : goods
}

/** Of those that every shop has. */
export function goodCalled(name: string): Good {
  const found = goodsFor('http').find((good) => good.name === name)
  if (!found) throw new TypeError(`nothing is called ${name}`)
  return found
}

function lot(saleId: number): Good {
  return {
    name: `lot ${saleId}`,
    rails: BOTH,
    tool: 'buy_sale_lot',
    ask: (rail, { address }) => buy(`/agentic/${rail}/buy`, { saleId, quantity: 1, beneficiary: address }),
    async delivered({ world }, { address }) {
      const call = { to: world.config.game.sale!.contract, data: `0x70a08231${word(address).slice(2)}` }
      return Number(await world.native.ask({ method: 'eth_call', params: [call, 'latest'] }))
    },
  }
}

const GRANTED = `
  select count(*)::int as count
  from inventory_ledger l
  join players p on p.id = l.player_id
  where p.nickname = $1`

function item(itemId: string): Good {
  return {
    name: `item ${itemId}`,
    rails: BOTH,
    tool: 'buy_shop_item',
    ask: (rail, { nickname }) => buy(`/shop/${rail}/buy`, { itemId, quantity: 1, nickname }),
    async delivered({ world, db, game }, payer) {
      if (!game) return count(db, GRANTED, payer.nickname)
      const playerId = `p-${world.payers.indexOf(payer)}`
      return game.ledger.filter((given) => given.playerId === playerId && isAsOrdered(given)).length
    },
  }
}

const burn: Good = {
  name: 'burn',
  rails: BOTH,
  tool: 'craft_burn',
  ask: (rail, { address, nfts }) => buy(`/craft/${rail}/burn`, { user: address, nfts: nfts.slice(0, BURNED) }),
  async delivered({ world }, { address, nfts }) {
    const gone = await world.native.logs({ address: nfts[0]!.contract, topics: [TRANSFER, word(address)] })
    return gone.length / BURNED
  },
}

const report: Good = {
  name: 'report',
  rails: ['x402'],
  tool: 'report_transaction',
  ask: (_rail, { address }) => buy('/x402/report-tx', { userId: address, txHash: word(address) }),
  delivered: ({ db }, { address }) =>
    count(db, `select count(*)::int as count from reports where user_id = $1`, address),
}

/** The answer is all that it gives, so the books say whether it was given. */
const CONFIRMED = `select count(*)::int as count from orders where lower(payer) = lower($1) and receipt is not null`

const probe: Good = {
  name: 'probe',
  rails: ['x402'],
  tool: 'check_payment_gateway',
  ask: () => ({ method: 'GET', path: '/x402/cheap-health' }),
  delivered: ({ db }, { address }) => count(db, CONFIRMED, address),
}

const lookup: Good = {
  name: 'lookup',
  rails: ['mpp'],
  tool: 'lookup_player',
  ask: () => buy('/shop/mpp/player-lookup', {}),
  delivered: ({ db }, { address }) => count(db, CONFIRMED, address),
}

function buy(path: string, body: unknown): Asked {
  return { method: 'POST', path, body }
}

async function count(db: Database, query: string, key: string): Promise<number> {
  const { rows } = await db.query<{ count: number }>(query, [key])
  return rows[0]!.count
}
