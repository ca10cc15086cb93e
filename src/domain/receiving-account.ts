import type { Address, Hash } from '../base/address.ts'
import type { MissingSend } from './journal.ts'
import type { Lease } from './lease.ts'
import type { Rail } from './rail.ts'

/** A transfer to a receiving account, as the chain shows it. */
export type Transfer = {
  readonly transaction: Hash
  readonly logIndex: number
  readonly blockNumber: bigint
  readonly sender: Address
  readonly amount: bigint
}

/** The transfers of some blocks, and the last block that a node could be read up to. */
export type AccountReading = { readonly transfers: readonly Transfer[]; readonly toBlock: bigint }

/** A block that the chain will not take back, and how much older it is than the newest one, by the clock of the chain. */
export type FinalBlock = { readonly number: bigint; readonly behindMs: number }

/** Where something is paid. */
type PlaceOfPayment = { readonly network: string; readonly asset: Address; readonly payTo: Address }

export function accountIdOf({ network, asset, payTo }: PlaceOfPayment): string {
  return `${network}/${asset}/${payTo}`.toLowerCase()
}

/** One asset at one address of the shop: where the payments of a rail arrive. The books are compared with the chain account by account. */
export type ReceivingAccount = {
  /** See `accountIdOf`. */
  readonly id: string
  readonly rail: Rail
  /** Where the rail is paid, or was by an earlier configuration. */
  readonly payTo: Address
  /** The newest block that the chain will not take back: the books are kept up to here. */
  finalBlock(): Promise<FinalBlock>
  newestBlock(): Promise<bigint>
  /** Every transfer to the account in these blocks, both included, as far as a node has them now. */
  transfers(fromBlock: bigint, toBlock: bigint): Promise<AccountReading>
  /** The transfers to the account in one transaction; none where the chain does not show it. */
  transfersOf(transaction: Hash): Promise<readonly Transfer[]>
  /** Does any node show such transfers in it, or that it waits to be mined? True as well where no node answers. */
  mayBePaidBy(transaction: Hash): Promise<boolean>
  /** When its block was made, in milliseconds. */
  timeOf(transfer: Pick<Transfer, 'blockNumber'>): Promise<number>
  /** The newest block that is not later than this, in milliseconds; the first one, where all are. */
  blockBefore(time: number): Promise<bigint>
  /** Broadcasts the stored bytes of an order's settlement again. */
  landAgain(orderId: string, lease: Lease): Promise<void>
  /** Checks the deliveries and refunds of this account: one that the chain has dropped is sent again, and reported. */
  watchSends(lease: Lease): Promise<readonly MissingSend[]>
  /** Money that a contract sent may belong to any of its users; it is not sent back to the contract unless an operator decides so. */
  isContract(address: Address): Promise<boolean>
  /** An address of the shop itself: transfers between those are no payments. */
  isOwn(address: Address): boolean
  /** The block at which the first scan begins when the store is new; null: at the moment when the shop first asked to be paid there. */
  readonly sinceBlock: bigint | null
}
