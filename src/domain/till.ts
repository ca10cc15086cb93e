import * as z from 'zod'
import { type Address, type Hash, sameAddress } from '../base/address.ts'
import { isoTime } from '../base/clock.ts'
import type { JsonObject } from '../base/json.ts'
import type { Lease } from './lease.ts'
import { type Rail, railNameSchema } from './rail.ts'
import type { MissingSend } from './send-watch.ts'

/** A transfer to a till, as the chain shows it. */
export type Transfer = {
  readonly transaction: Hash
  readonly logIndex: number
  readonly blockNumber: bigint
  readonly sender: Address
  readonly amount: bigint
}

/** Sender and amount tell the transfers of a transaction apart, mostly. */
export function isAlike(one: Pick<Transfer, 'sender' | 'amount'>, other: Pick<Transfer, 'sender' | 'amount'>): boolean {
  return one.amount === other.amount && sameAddress(one.sender, other.sender)
}

/** The transfers of some blocks, and the last block that a node could be read up to. */
export type TillReading = { readonly transfers: readonly Transfer[]; readonly toBlock: bigint }

/** A block that the chain will not take back, and how much older it is than the newest one, by the clock of the chain. */
export type FinalBlock = { readonly number: bigint; readonly behindMs: number }

/** Where something is paid. */
type PlaceOfPayment = { readonly network: string; readonly asset: Address; readonly payTo: Address }

export function tillIdOf({ network, asset, payTo }: PlaceOfPayment): string {
  return `${network}/${asset}/${payTo}`.toLowerCase()
}

/** One asset at one address of the shop: where the payments of a rail arrive. The store is compared with the chain till by till. */
export type Till = {
  /** See `tillIdOf`. */
  readonly id: string
  readonly rail: Rail
  /** Where the rail is paid, or was by an earlier configuration. */
  readonly payTo: Address
  /** The newest block that the chain will not take back: the books are kept up to here. */
  finalBlock(): Promise<FinalBlock>
  newestBlock(): Promise<bigint>
  /** Every transfer to the till in these blocks, both included, as far as a node has them now. */
  transfers(fromBlock: bigint, toBlock: bigint): Promise<TillReading>
  /** The transfers to the till in one transaction; none where the chain does not show it. */
  transfersOf(transaction: Hash): Promise<readonly Transfer[]>
  /** Does any node show such transfers in it, or that it waits to be mined? True as well where no node answers. */
  mayBePaidBy(transaction: Hash): Promise<boolean>
  /** Does enough of the chain stand on this transfer that it will not vanish again, and does the chain show it still, a large one by two nodes? */
  isDeep(transfer: Transfer): Promise<boolean>
  /** When its block was made, in milliseconds. */
  timeOf(transfer: Pick<Transfer, 'blockNumber'>): Promise<number>
  /** The newest block that is not later than this, in milliseconds; the first one, where all are. */
  blockBefore(time: number): Promise<bigint>
  /** Has it gone for good, as far as can be seen? A block later than `since`, in milliseconds, lies deep, and no node shows it in its transaction. */
  isGone(payment: Pick<Transfer, 'transaction' | 'sender' | 'amount'>, since: number): Promise<boolean>
  /** Broadcasts the stored bytes of an order's settlement again. `impossible`: none are stored, or they can never land any more. */
  landAgain(orderId: string, lease: Lease): Promise<'landed' | 'pending' | 'impossible'>
  /** Checks the deliveries and refunds of this till: one that the chain has dropped is sent again, and reported. */
  watchSends(lease: Lease): Promise<readonly MissingSend[]>
  /** Money that a contract sent may belong to any of its users; it is not sent back to the contract unless an operator decides so. */
  isContract(address: Address): Promise<boolean>
  /** An address of the shop itself: transfers between those are no payments. */
  isOwn(address: Address): boolean
  /** The block at which the first scan begins when the store is new; null: at the moment when the shop first asked to be paid there. */
  readonly sinceBlock: bigint | null
}

/** What became of a transfer. */
export const arrivalStates = [
  /** Just seen; its payer may be about to present it. */
  'unclaimed',
  /** It paid an order. */
  'matched',
  /** Our own money, moved by ourselves. */
  'own',
  /** No order claimed it; it goes back to its sender after a delay. */
  'orphaned',
  /** No order claimed it, and an operator must decide. */
  'held',
  /** An operator decided that it stays. */
  'kept',
  /** Too little to open a case for. It stays. */
  'dust',
  'refunding',
  'refunded',
] as const

export type ArrivalState = (typeof arrivalStates)[number]

export type Arrival = Transfer & {
  readonly id: string
  readonly till: string
  readonly state: ArrivalState
  /** Why no order claimed it, or why an operator must decide. */
  readonly reason: string | null
  /** The order that it paid; or, for money that came too late, the order that had given it up. */
  readonly orderId: string | null
  readonly refundTx: Hash | null
  readonly decidedBy: string | null
  readonly foundAt: number
}

export const arrivalSchema = z
  .object({
    arrivalId: z.string(),
    status: z.enum(arrivalStates),
    reason: z.string().nullable().describe('Why nobody claimed it, or why a person must decide'),
    protocol: railNameSchema,
    network: z.string(),
    asset: z.string(),
    amount: z.string().describe('Atomic units'),
    payer: z.string(),
    payTo: z.string(),
    paymentTx: z.string(),
    blockNumber: z.string(),
    orderId: z.string().nullable().describe('The order that had given it up, if there is one'),
    refund: z
      .object({ status: z.enum(['refunding', 'refunded']), to: z.string(), transaction: z.string().nullable() })
      .nullable(),
    foundAt: z.iso.datetime(),
  })
  .meta({ id: 'Arrival', description: 'Money that came without a purchase' })

/** What its payer is told of the refund; null while none has begun. */
export function refundOf({ state, sender, refundTx }: Arrival): JsonObject | null {
  if (state === 'refunded') return { status: state, to: sender, transaction: refundTx }
  return state === 'orphaned' || state === 'refunding'
    ? { status: 'refunding', to: sender, transaction: refundTx }
    : null
}

/** An arrival as events and reports show it; `arrivalSchema` is its shape. */
export function presentArrival(arrival: Arrival, { rail, payTo }: Till): JsonObject {
  const { id, state, reason, transaction, blockNumber, sender, amount, orderId, foundAt } = arrival
  return {
    arrivalId: id,
    status: state,
    reason,
    protocol: rail.name,
    network: rail.network,
    asset: rail.asset,
    amount: amount.toString(),
    payer: sender,
    payTo,
    paymentTx: transaction,
    blockNumber: blockNumber.toString(),
    orderId,
    refund: refundOf(arrival),
    foundAt: isoTime(foundAt),
  }
}
