import './problems.ts'
import { createAlarm } from '../../base/alarm.ts'
import { cachedRead } from '../../base/cached-read.ts'
import { PLACEHOLDER_ADDRESS } from '../../base/placeholder.ts'
import { createBatchReader } from '../../chain/batch.ts'
import { contractAt } from '../../chain/contract.ts'
import { isLotHidden, readLotNotes } from '../../store/lot-notes.ts'
import { type OpenSurface, type Surface, type SurfaceParts, toldGood } from '../surface.ts'
import { saleLot, salePrice } from './lot.ts'
import { createLots, saleAbi } from './lots.ts'
import { assertOpen, gasMaxOf, minterRight } from './mint.ts'
import { type SaleCounter, saleRows, saleStatusRow } from './rows.ts'
import { saleBuySchema } from './schema.ts'
import { presentSale, publishSale, saleShelf } from './view.ts'

/** Another key joins when the minter is rotated. Until that is noticed, what it has minted counts twice, and too few are sold, never too many. */
const MINTERS_MS = 10_000

function open(parts: SurfaceParts): OpenSurface | null {
  const { config, clock, log, database, chainOf, offersOn, ownAddresses, payerProblem } = parts
  const { sale, chain } = config.game
  if (!sale) return null
  const access = chainOf(chain)
  const { rpc } = access
  const contract = contractAt(rpc, sale.contract, saleAbi)
  const notes = {
    all: () => readLotNotes(database, contract.address),
    isHidden: (saleId: number) => isLotHidden(database, contract.address, saleId),
  }
  const read = createBatchReader(rpc)
  const minter = access.sender(sale.minterKey)
  const minters = cachedRead(clock, MINTERS_MS, () => minter.keysInRole('minter'))
  const lots = createLots({ contract, read, saleIds: sale.saleIds, notes, minters, clock })
  const { delivery } = config.limits
  const mint = { contract, rpc, minter, clock, delivery, alarm: createAlarm(log, clock) }
  const good = saleLot({ ...mint, lots, ownAddresses, payerProblem })
  const price = salePrice({ ...mint, lots })
  const counter: SaleCounter = {
    offers: offersOn({ good, price }),
    schema: saleBuySchema(config.limits),
    example: { saleId: sale.exampleSaleId, quantity: 1, beneficiary: PLACEHOLDER_ADDRESS },
  }
  return {
    rails: [...counter.offers.keys()],
    rows: (context, rail) => saleRows(context, counter, rail),
    shelf: saleShelf(lots, clock),
    async assertSells() {
      await Promise.all([assertOpen(mint), minter.assertFunded(gasMaxOf({ quantity: 1 })), minter.assertClear()])
    },
    rights: async () => [await minterRight(mint)],
  }
}

/** NFT lots: minted to a beneficiary by the studio's sale contract. */
export const sale: Surface = {
  name: 'sale',
  words: ['NFT lots'],
  title: 'NFT lots',
  hasShelf: true,
  suitsAnybody: true,
  deliveryMs: ({ delivery }) => delivery.mintMs,
  goods: () => ({
    saleLot: toldGood({ present: presentSale, publish: publishSale }, (rail) => `/agentic/${rail}/purchases`),
  }),
  keys: ({ game: { chain, sale } }) => (sale ? [{ role: 'minter', chain, key: sale.minterKey }] : []),
  statusRow: saleStatusRow,
  open,
}
