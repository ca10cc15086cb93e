import type { PrivateKeyAccount } from 'viem/accounts'
import { systemRandom } from '../../src/base/id.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { statement } from '../../src/store/statement.ts'
import { type Crafter, crafterAtWork, PRICE, readyCrafter, TOKEN, timersOf } from '../craft/workshop.ts'
import { erc20Balance } from '../support/shop.ts'
import { type CrashWorld, type Flow, rails } from './flows.ts'

const GIVEN = statement<{ given: number }>(`
  select count(*)::int as given
  from inventory_ledger l
  join players p on p.id = l.player_id
  where p.nickname = $1`)

const REPORTED = statement<{ given: number }>('select count(*)::int as given from reports where user_id = $1')

async function count({ store }: CrashWorld, query: typeof GIVEN, key: string): Promise<number> {
  const { rows } = await store.db.query(query, [key])
  return rows[0]!.given
}

const ANSWERED = statement<{ given: number }>(`
  select count(*)::int as given
  from orders
  where payer = $1
    and status = 'confirmed'`)

/** An answer is all it gives, and leaves nothing behind but its order. */
const answers = (world: CrashWorld, { address }: PrivateKeyAccount) => count(world, ANSWERED, address)

/** Every other paid route of the interface, on every rail that has it. */
export const surfaceFlows: readonly Flow[] = rails.flatMap((rail): Flow[] => {
  const other = rail.rail === 'x402' ? 'mpp' : 'x402'
  const both: Flow[] = [
    {
      name: `an item by ${rail.name}`,
      rail,
      path: `/shop/${rail.rail}/buy`,
      prepare: newPlayer,
      body: (_buyer, nickname) => ({ itemId: 'keys:5', nickname }),
      price: 1_500_000n,
      delivered: (world, _buyer, nickname) => count(world, GIVEN, nickname as string),
      ends: 'delivered',
    },
    {
      name: `an item that the game refuses, by ${rail.name}`,
      rail,
      path: `/shop/${rail.rail}/buy`,
      body: () => ({ itemId: 'keys:5', nickname: 'fail_delivery' }),
      price: 1_500_000n,
      delivered: (world) => count(world, GIVEN, 'fail_delivery'),
      ends: 'refunded',
    },
    {
      name: `a burn by ${rail.name}`,
      rail,
      path: `/craft/${rail.rail}/burn`,
      prepare: (world, buyer) => readyCrafter(world, undefined, buyer),
      body: ({ address }, crafter) => ({ user: address, nfts: (crafter as Crafter).nfts.slice(0, 2) }),
      price: PRICE,
      delivered: async (world, _buyer, crafter) => (await timersOf(world, crafter as Crafter)).length,
      ends: 'delivered',
    },
    {
      name: `an acceleration by ${rail.name}`,
      rail,
      path: `/craft/${rail.rail}/accelerate`,
      // The timer is paid for on the other rail, so that the judge sees one payment on this one.
      prepare: (world, buyer, url) => crafterAtWork({ ...world, url }, TOKEN, buyer, other),
      body: ({ address }) => ({ user: address, amount: TOKEN.toString() }),
      price: PRICE,
      delivered: tokensSpent,
      ends: 'delivered',
    },
  ]
  if (rail.rail === 'mpp') return [...both, lookup(rail)]
  return [...both, cheapHealth(rail), report(rail)]
})

async function newPlayer({ store }: CrashWorld, { address }: PrivateKeyAccount): Promise<string> {
  const nickname = `p${address.slice(2, 18)}`
  await createSandboxPlayers(store.db, systemRandom).create({ nickname, address })
  return nickname
}

/** The faucet gave a hundred craft tokens. */
async function tokensSpent({ chains, world }: CrashWorld, { address }: PrivateKeyAccount): Promise<number> {
  const left = await erc20Balance(chains.native, world.contracts.craftToken, address)
  return Number((100n * TOKEN - left) / TOKEN)
}

function lookup(rail: Flow['rail']): Flow {
  return {
    name: `a player lookup by ${rail.name}`,
    rail,
    path: '/shop/mpp/player-lookup',
    prepare: newPlayer,
    body: () => ({}),
    price: 20_000n,
    delivered: answers,
    ends: 'delivered',
  }
}

function cheapHealth(rail: Flow['rail']): Flow {
  return {
    name: `a health probe by ${rail.name}`,
    rail,
    path: '/x402/cheap-health',
    body: () => null,
    price: PRICE,
    delivered: answers,
    ends: 'delivered',
  }
}

function report(rail: Flow['rail']): Flow {
  return {
    name: `a report by ${rail.name}`,
    rail,
    path: '/x402/report-tx',
    body: ({ address }) => ({ userId: address, txHash: `0x${address.slice(2).toLowerCase().padStart(64, '0')}` }),
    price: PRICE,
    delivered: (world, { address }) => count(world, REPORTED, address),
    ends: 'delivered',
  }
}
