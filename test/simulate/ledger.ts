import type { Address } from '../../src/base/address.ts'
import { TRANSFER } from '../../src/chain/eip3009.ts'
import type { Purchase } from './book.ts'
import { word } from './goods.ts'
import { treasuries } from './keys.ts'
import type { Universe } from './universe.ts'

/** What the chain, the game and the payer know of one purchase, whatever the shop says. */
export type Ledger = {
  readonly paid: readonly bigint[]
  readonly back: readonly bigint[]
  readonly delivered: number
}

export async function ledgerOf(universe: Universe, purchase: Purchase): Promise<Ledger> {
  const { world, store, game } = universe
  const { payer, good, way, credentials } = purchase
  const { config } = world
  const till = way.rail === 'x402' ? config.x402!.payTo : config.mpp!.recipient
  const had = await good.delivered({ world, db: store.db, game }, payer)
  // What only the books knew is gone with them; the payer knows what it was told.
  const told = credentials.filter(({ answers }) => answers.some(({ status }) => status === 200)).length
  return {
    paid: await transfers(universe, purchase, payer.address, till),
    back: (await Promise.all(treasuries.map((from) => transfers(universe, purchase, from, payer.address)))).flat(),
    delivered: universe.wasRestored() ? Math.max(had, told) : had,
  }
}

async function transfers(
  { world }: Universe,
  { way }: Purchase,
  from: Address,
  to: Address,
): Promise<readonly bigint[]> {
  const { config } = world
  const [chain, token] =
    way.rail === 'x402' ? [world.native, config.x402!.asset] : [world.tempo, config.mpp!.currency.address]
  const logs = await chain.logs({ address: token, topics: [TRANSFER, word(from), word(to)] })
  // A transfer of nothing is no payment, however often it is shown.
  return logs.map(({ data }) => BigInt(data)).filter((amount) => amount > 0n)
}
