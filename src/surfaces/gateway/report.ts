import * as z from 'zod'
import type { Address, Hash } from '../../base/address.ts'
import { type Clock, isoTime } from '../../base/clock.ts'
import { newId, type Random } from '../../base/id.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Good } from '../../domain/good.ts'
import { commonMembers, type PurchaseView, publicMembers } from '../../domain/offer.ts'
import { purchaseFields } from '../../domain/purchase-fields.ts'
import type { Reports } from '../../store/reports.ts'
import type { PayerProblem } from '../surface.ts'
import type { ReportTx } from './schema.ts'
import type { TransactionLookup } from './transaction-lookup.ts'

type TxReportOptions = {
  readonly reports: Reports
  readonly transactions: TransactionLookup
  readonly clock: Clock
  readonly random: Random
  readonly payerProblem: (payer: Address) => PayerProblem
}

/**
 * A note that a user made a transaction. It is written down with whoever paid for it, whatever the chain says, and gives nobody any power
 * over that user.
 */
export function txReport({ reports, transactions, clock, random, payerProblem }: TxReportOptions): Good<ReportTx> {
  return {
    name: 'txReport',
    surface: 'gateway',
    subject: 'order',

    async check(_input, payer) {
      return { findings: [{ check: 'payer', problem: payer && (await payerProblem(payer)) }], plan: {}, holds: [] }
    },

    async deliver({ userId, txHash }, _plan, { orderId, payer }) {
      const chain = await transactions.find(txHash as Hash)
      const standing = await reports.record({
        reportId: newId('rep', random),
        userId,
        txHash: txHash as Hash,
        payer,
        orderId,
        chain,
        recordedAt: clock.now(),
      })
      return {
        state: 'delivered',
        result: {
          reportId: standing.reportId,
          duplicate: standing.orderId !== orderId,
          chain: standing.chain,
          recordedAt: isoTime(standing.recordedAt),
        },
      }
    },
  }
}

export const reportResultSchema = z
  .object({
    ...purchaseFields,
    reportId: z.string().nullable().describe('Null until recorded'),
    userId: z.string(),
    txHash: z.string(),
    duplicate: z
      .boolean()
      .describe('True when this user had reported this transaction before; the first report stands'),
    chain: z
      .object({ network: z.string(), status: z.enum(['success', 'reverted']) })
      .nullable()
      .describe('What the chain said when the report was recorded; null when no chain known here has seen it'),
    recordedAt: z.string().nullable(),
  })
  .meta({ id: 'TxReport', description: 'A recorded transaction hash' })

export function presentReport(view: PurchaseView<ReportTx>): JsonObject {
  const { reportId = null, duplicate = false, chain = null, recordedAt = null } = view.result ?? {}
  const { userId, txHash } = view.input
  return { reportId, userId, txHash, duplicate, chain, recordedAt, ...commonMembers(view) }
}

/** The report itself is not on the chain, only its price is. */
export function publishReport(view: PurchaseView<ReportTx>): JsonObject {
  return publicMembers(view)
}
