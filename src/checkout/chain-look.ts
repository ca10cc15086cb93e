import { type Hash, isHash } from '../base/address.ts'
import { msSince, withinTime } from '../base/clock.ts'
import { isProblem } from '../base/problem.ts'
import { RpcError } from '../chain/rpc.ts'
import type { ReceivingAccount } from '../domain/receiving-account.ts'
import type { ReconcileContext } from '../ledger/reconcile-context.ts'

/** What the chains show of a transaction. */
export type ChainFinding =
  /** It moves money to a receiving account. `names`: those that the payments in it have. */
  | { readonly kind: 'pays'; readonly names: readonly string[] }
  /** It may: it waits to be mined, nodes do not show the same of it, or too few of them answered. */
  | { readonly kind: 'unknown' }
  /** No chain that the shop is paid on shows it, or it pays the shop nothing. */
  | { readonly kind: 'nothing' }

const NOTHING: ChainFinding = { kind: 'nothing' }
const UNKNOWN: ChainFinding = { kind: 'unknown' }

/** Strangers ask as well, and each look is some questions to each node. Beyond this many the answer is that it is not known. */
const LOOKS_MAX = 20
const WINDOW_MS = 1_000
/** A caller who asks for a status does not wait for a silent node. */
const LOOK_MS_MAX = 2_000
/** Strangers decide how many payments a transaction contains. */
const NAMES_MAX = 10

/** Asks the chains about a name that may be a transaction. Equal questions at one moment share a look. An answer is not kept: the next one may differ. */
export function createChainLook({
  accounts,
  clock,
}: Pick<ReconcileContext, 'accounts' | 'clock'>): (name: string) => Promise<ChainFinding> {
  const underWay = new Map<string, Promise<ChainFinding>>()
  let since = clock.now()
  let begun = 0
  return async (name) => {
    const transaction = name.toLowerCase()
    if (!isHash(transaction)) return NOTHING
    if (msSince(clock, since) >= WINDOW_MS) [since, begun] = [clock.now(), 0]
    const shared = underWay.get(transaction)
    if (!shared && begun++ >= LOOKS_MAX) return UNKNOWN
    const look = shared ?? lookAt(accounts, transaction).finally(() => underWay.delete(transaction))
    underWay.set(transaction, look)
    return (await withinTime(clock, LOOK_MS_MAX, look)) ?? UNKNOWN
  }
}

async function lookAt(accounts: readonly ReceivingAccount[], transaction: Hash): Promise<ChainFinding> {
  const suspected = await Promise.all(accounts.map((account) => unlessSilent(true, account.mayBePaidBy(transaction))))
  const candidates = accounts.filter((_, index) => suspected[index])
  if (candidates.length === 0) return NOTHING
  const found = await Promise.all(candidates.map((account) => unlessSilent([], namesIn(account, transaction))))
  const names = found.flat()
  return names.length === 0 ? UNKNOWN : { kind: 'pays', names: names.filter((name) => name !== null) }
}

/** The names of the payments to a receiving account; null for one that has none. */
async function namesIn(account: ReceivingAccount, transaction: Hash): Promise<readonly (string | null)[]> {
  const transfers = (await account.transfersOf(transaction)).filter(({ sender }) => !account.isOwn(sender))
  return Promise.all(transfers.slice(0, NAMES_MAX).map((transfer) => account.rail.identityOf(transfer)))
}

/** A node that is silent, or refuses, must not hide what another chain shows. */
async function unlessSilent<Answer>(otherwise: Answer, asked: Promise<Answer>): Promise<Answer> {
  try {
    return await asked
  } catch (error) {
    if (isProblem(error) || error instanceof RpcError) return otherwise
    throw error
  }
}
