import type { SaleCounter } from '../api/rows/sale.ts'
import { createBatchReader } from '../chain/batch.ts'
import { contractAt } from '../chain/contract.ts'
import { saleLot, salePrice } from '../surfaces/sale/lot.ts'
import { createLots, saleAbi } from '../surfaces/sale/lots.ts'
import { saleBuySchema } from '../surfaces/sale/schema.ts'
import { saleShelf } from '../surfaces/sale/view.ts'
import type { CounterParts } from './counter.ts'

export function createSale({
  config,
  clock,
  chainOf,
  offersOn,
  ownAddresses,
  payerProblem,
}: CounterParts): SaleCounter | null {
  const { sale, chain } = config.game
  if (!sale) return null
  const access = chainOf(chain)
  const contract = contractAt(access.rpc, sale.contract, saleAbi)
  const { rpc, head } = access
  const lots = createLots({ contract, rpc, head, read: createBatchReader(rpc), saleIds: sale.saleIds, clock })
  const minter = access.sender(sale.minterKey)
  const good = saleLot({
    contract,
    rpc,
    lots,
    minter,
    clock,
    delivery: config.limits.delivery,
    ownAddresses,
    payerProblem,
  })
  const price = salePrice(lots, clock)
  return {
    offers: offersOn({ good, price }),
    schema: saleBuySchema(config.limits),
    shelf: saleShelf(lots, clock),
    example: { saleId: sale.saleIds[0] ?? 1, quantity: 1, beneficiary: '0x000000000000000000000000000000000000dEaD' },
  }
}
