import type { Address } from '../base/address.ts'
import type { Act } from '../chain/act.ts'
import type { Rpc } from '../chain/rpc.ts'

/** One thing that is to be so on the chain, and the transaction that makes it so. Doing it twice changes nothing. */
export type Step = {
  /** Says what it does; also its name in the journal. */
  readonly id: string
  readonly act: Act & { readonly to: Address }
  /** Asked before it is sent and after: the chain knows best what is done. */
  isDone(rpc: Rpc): Promise<boolean>
}
