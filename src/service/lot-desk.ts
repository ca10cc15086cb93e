import type { LotDesk } from '../api/operator/lot-rows.ts'
import type { Clock } from '../base/clock.ts'
import { createBatchReader } from '../chain/batch.ts'
import { contractAt } from '../chain/contract.ts'
import type { GameConfig, SaleConfig } from '../config/config.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { Database } from '../store/db.ts'
import { recordDeed } from '../store/deeds.ts'
import { changeLotNotes, readLotNotes } from '../store/lot-notes.ts'
import { lotStateOf, readLots, saleAbi } from '../surfaces/sale/lots.ts'

type LotDeskParts = {
  readonly sale: SaleConfig
  readonly chain: GameConfig['chain']
  readonly chainOf: (chain: GameConfig['chain']) => ChainAccess
  readonly database: Database
  readonly clock: Clock
}

/** What the operator's routes about lots work with. The shop's own keys cannot change a lot: that is the lot manager's. */
export function createLotDesk({ sale, chain, chainOf, database, clock }: LotDeskParts): LotDesk {
  const { rpc } = chainOf(chain)
  const contract = contractAt(rpc, sale.contract, saleAbi)
  const read = createBatchReader(rpc)
  const seconds = (time: number | null) => (time === null ? 0n : BigInt(time / 1000))
  return {
    contract: sale.contract,
    chainId: chain.chainId,
    async lots() {
      const now = clock.now()
      return (await readLots(contract, read, null)).map((lot) => ({ ...lot, state: lotStateOf(lot, now) }))
    },
    isOffered: (saleId) => sale.saleIds === null || sale.saleIds.includes(saleId),
    notes: () => readLotNotes(database, sale.contract),
    note: (doer, changes, ifMatch) => changeLotNotes(database, doer, { contract: sale.contract, ifMatch }, changes),
    encode: (saleId, { name, uri, unitPrice, supply, opensAt, closesAt }) =>
      contract.encode('setLot', [
        BigInt(saleId),
        { name, uri, unitPrice, supply, opensAt: seconds(opensAt), closesAt: seconds(closesAt) },
      ]),
    prepared: (doer, saleId, before, after) =>
      recordDeed(database, doer, { deed: 'lot.prepared', about: { kind: 'lot', id: String(saleId) }, before, after }),
  }
}
