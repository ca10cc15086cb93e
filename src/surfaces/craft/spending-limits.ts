import type { Address } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import type { Finding, Hold } from '../../domain/good.ts'
import { orderKey } from '../../outbox/deliver-once.ts'
import type { Craft } from './action.ts'

/** What a user's craft tokens still allow us to charge. */
type SpendingLimits = { readonly isPaused: boolean; readonly allowance: Means; readonly balance: Means }

/** One limit that lies on the chain. */
type Means = {
  readonly resource: string
  readonly version: bigint
  /** What the chain shows. */
  readonly onChain: bigint
  /** What open orders have set aside and not charged yet. */
  readonly reserved: bigint
  /** What the chain shows, and what was charged for orders whose hold is still open. */
  readonly limit: bigint
}

/**
 * Reads allowance and balance so that they can be compared with the holds of the store, whatever other orders of the same user do
 * meanwhile. An order lives through three moments: its hold is taken, its charge is mined, its hold ends. A charge that is mined while
 * its hold counts would count twice, once in the lower allowance and once in the hold; so it is added back. To be exact, and never to
 * allow too much, the readings go in this order:
 *
 *   1. the versions: what was given back before that was charged before, and is missing from the allowance already. What is given back
 *      later counts as held, so its charge may be added back too.
 *   2. the open holds, and the number of the newest block.
 *   3. the open holds again. One that is in neither list was taken after that block, so the charge behind it is in no block we read.
 *   4. allowance, balance, and which of those orders were charged, all as of that block and no other.
 */
export async function readSpendingLimits({ controller, holds, head }: Craft, user: Address): Promise<SpendingLimits> {
  const { chainId, address, contract, read } = controller
  const token = await controller.token()
  const names = {
    allowance: `allowance:${chainId}:${token.address}:${address}:${user}`.toLowerCase(),
    balance: `balance:${chainId}:${token.address}:${user}`.toLowerCase(),
  }
  const versions = await holds.versions([names.allowance, names.balance])
  // Every order holds the same quantity of both, so one list serves for both.
  const earlier = await holds.held([names.allowance])
  const { number } = await head.fresh()
  const later = await holds.held([names.allowance])
  const open = [...new Map([...earlier, ...later].map((held) => [held.orderId, held])).values()]
  const [paused, allowance, balance, ...actions] = await read(
    [
      contract.question('paused', []),
      token.question('allowance', [user, address]),
      token.question('balanceOf', [user]),
      ...open.map(({ orderId }) => contract.question('actionOf', [orderKey(orderId)])),
    ],
    number,
  )
  const isCharged = (index: number) => actions[index]?.[2] === true
  const charged = sum(open.filter((_, index) => isCharged(index)))
  const reserved = sum(open) - charged
  const meansOf = (resource: string, onChain: bigint | null): Means => ({
    resource,
    version: versions.get(resource) ?? 0n,
    onChain: onChain ?? 0n,
    reserved,
    limit: (onChain ?? 0n) + charged,
  })
  return {
    isPaused: paused !== false,
    allowance: meansOf(names.allowance, allowance),
    balance: meansOf(names.balance, balance),
  }
}

function sum(held: readonly { readonly quantity: bigint }[]): bigint {
  return held.reduce((total, { quantity }) => total + quantity, 0n)
}

export function purseHolds({ allowance, balance }: SpendingLimits, amount: bigint): readonly Hold[] {
  return [
    holdOf(allowance, amount, 'allowance_insufficient', 'allowance'),
    holdOf(balance, amount, 'balance_insufficient', 'balance'),
  ]
}

function holdOf(
  { resource, version, limit }: Means,
  quantity: bigint,
  code: Hold['refusal']['code'],
  word: string,
): Hold {
  const detail = `The user's other open accelerations use up the ${word} of the craft token.`
  return { resource, quantity, limit, seenVersion: version, refusal: { code, detail } }
}

export function balanceFinding({ balance }: SpendingLimits, amount: bigint): Finding {
  const { onChain, reserved } = balance
  if (reserved + amount <= onChain) return { check: 'balance', problem: null }
  const detail = `The user has ${onChain} atomic units of the craft token${reservedNote(reserved)}; ${amount} are needed.`
  return { check: 'balance', problem: new Problem('balance_insufficient', detail) }
}

/**
 * Covers this action and all that are still open: an approval replaces the one before. It covers no more: the payment may
 * have been signed for a site that hands it on and names the amount. A wider allowance was not given for this charge, and is no consent to it.
 */
export async function allowanceFinding(
  { controller }: Craft,
  { allowance }: SpendingLimits,
  amount: bigint,
): Promise<Finding> {
  const { onChain, reserved } = allowance
  const needed = reserved + amount
  if (onChain === needed) return { check: 'allowance', problem: null }
  const token = await controller.token()
  const call = `approve(${controller.address}, ${needed})`
  const data = token.encode('approve', [controller.address, needed])
  const fix = { to: token.address, data, description: `${call}: lets the craft controller charge this amount` }
  const found = `The craft controller may charge ${onChain} atomic units${reservedNote(reserved)}`
  const problem =
    onChain > needed
      ? new Problem('approval_too_wide', `${found}, which is more than is needed; sign ${call}.`, { members: { fix } })
      : new Problem('allowance_insufficient', `${found}; ${amount} are needed.`, { members: { fix } })
  return { check: 'allowance', problem, fix }
}

function reservedNote(reserved: bigint): string {
  return reserved === 0n ? '' : `, of which ${reserved} are set aside for open actions`
}
