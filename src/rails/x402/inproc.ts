import type { Address } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { isProblem, Problem } from '../../base/problem.ts'
import { OUT_OF_GAS } from '../../chain/contract.ts'
import {
  type Authorization,
  findAuthorization,
  isAuthorizationUsed,
  transferCall,
  transferRefusal,
  usedIn,
} from '../../chain/eip3009.ts'
import { GAS_OF_CONTRACT } from '../../chain/erc1271.ts'
import type { HeadSource } from '../../chain/head.ts'
import { type Receipt, readReceipt } from '../../chain/receipt.ts'
import { type Rpc, RpcError } from '../../chain/rpc.ts'
import { isTokenPaused, TOKEN_PAUSED } from '../../chain/tokens.ts'
import type { Call } from '../../domain/journal.ts'
import type { Lease } from '../../domain/lease.ts'
import type { PaidOrder, SettleOutcome } from '../../domain/rail.ts'
import type { Sender } from '../../outbox/sender.ts'
import type { SendState } from '../../outbox/state.ts'
import { NOT_DEEP, unknownPaymentStart } from '../confirmations.ts'
import type { Facilitator } from './facilitator.ts'
import { type SettlementReader, type SettlementRefusal, storedPayment, USED_UNSEEN } from './settlement.ts'

// A fixed limit instead of an estimate saves a call; FiatToken needs about 75,000. A contract wallet may burn more, and no more than this.
const GAS_OF_KEY = 150_000n

/** Too late to reach the chain: sending would only pay gas for a revert. */
const MS_TO_LAND = 2_000

const STEP = 'settle'
const USED = { kind: 'unknown', detail: USED_UNSEEN } as const

type InprocOptions = {
  readonly rpc: Rpc
  readonly head: HeadSource
  readonly asset: Address
  readonly settler: Sender
  readonly reader: SettlementReader
  readonly now: () => number
}

export function inprocFacilitator(options: InprocOptions): Facilitator {
  return {
    kind: 'inproc',
    verify: ({ payload }) => verify(options, payload),
    settle: (order, lease) => settle(options, order, lease),
  }
}

async function verify(options: InprocOptions, payment: Payment): Promise<void> {
  const { rpc, asset, settler } = options
  const call = callOf(asset, payment)
  await settler.assertFunded(call.gas)
  await settler.assertClear()
  const refusal = await transferRefusal(rpc, asset, { terms: await settler.terms(call.gas), data: call.data })
  if (refusal === null) return
  if (/used or canceled/.test(refusal) && (await wasCancelled(options, payment.authorization))) {
    throw new Problem(
      'payment_cancelled',
      'The payer cancelled this payment on the chain; pay the challenge in this answer.',
    )
  }
  // Its words alone prove nothing: a wallet's own code may have said them.
  if (/paused/i.test(refusal) && (await isTokenPaused(rpc, asset))) throw new Problem('surface_closed', TOKEN_PAUSED)
  throw problemOf(refusal)
}

async function settle(options: InprocOptions, order: PaidOrder, lease: Lease): Promise<SettleOutcome> {
  const { rpc, asset, settler, reader } = options
  const stored = storedPayment(order)
  const call = callOf(asset, stored)
  const state = await sent(options, order, { call, lease })
  if (state?.state === 'mined') {
    const outcome = await reader.judge(order, state.receipt)
    if (outcome) return outcome
  }
  // Reverted, or not there yet: somebody else may have brought the same payment to the chain first, and then we are paid.
  const found = await reader.find(order)
  if (found) return found
  if (state?.state !== 'mined') return reader.absent(order, null, state?.state === 'pending' ? state.hash : undefined)
  // The same transaction may be mined anew, in a block that replaces this one, and take the money then: its time was not over in that block.
  if (!(await reader.isIrrevocable(order, state.receipt))) {
    const transaction = state.receipt.transactionHash
    if (!(await reader.isOver(order))) return { kind: 'unknown', detail: NOT_DEEP, transaction, hasFailed: true }
    // When its time is over for good, that it was not used is proof enough.
    if (!(await settler.isBuried(state.receipt))) return reader.absent(order, null, transaction)
  }
  // When its time is over for good nobody's bytes can take it any more, whether they land or not.
  if (!(await reader.isOver(order)) && (await mayLandByAnother(settler, order, lease)))
    return { kind: 'unknown', detail: 'Another key of ours has sent the payment, and it may still land.' }
  // The node that was just asked may be behind the one that showed the receipt; as of that one's block, or a later one, there is no doubt. And as of
  // one that all nodes have: of a block that it has not got, a node would never say anything.
  const { number } = await rpc.shared()
  const isUsed = async (block?: bigint) => isAuthorizationUsed(rpc, asset, stored.authorization, block)
  if (number < state.receipt.blockNumber || (await isUsed(number))) return USED
  const refusal = await whyReverted(options, order, call, state.receipt)
  // Somebody may have brought it to the chain meanwhile: the next look will find it.
  return (await isUsed()) ? USED : { kind: 'refused', ...refusal }
}

/** What became of the transaction that was to bring it to the chain. Null: there is none, and it is too late for one. */
async function sent(
  { settler, now }: InprocOptions,
  order: PaidOrder,
  { call, lease }: { readonly call: Call; readonly lease: Lease },
): Promise<SendState | null> {
  const errand = { lease, orderId: order.id, step: STEP }
  if (now() > order.expiresAt - MS_TO_LAND) return sentBefore(settler, order)
  // The first send needs no look at the journal, which tells of a duplicate by itself.
  return (await settler.send(errand, call)).state
}

/** The one that took the money; else one that may still land, or the newest. */
async function sentBefore(settler: Sender, { id }: PaidOrder): Promise<SendState | null> {
  const own = (await settler.sendsOf(id)).filter((send) => send.step === STEP && settler.isOwn(send))
  const states = await Promise.all(own.map(settler.look))
  const paid = states.find((state) => state.state === 'mined' && state.receipt.succeeded)
  return paid ?? states.find(({ state }) => state === 'pending') ?? states.at(-1) ?? null
}

/** May it still be taken, or has it been, by what another key of ours has signed? Without that key its bytes are sent once more, so that there is an end. */
async function mayLandByAnother(settler: Sender, { id }: PaidOrder, lease: Lease): Promise<boolean> {
  for (const send of await settler.sendsOf(id)) {
    if (send.step !== STEP || send.chainId !== settler.chainId || settler.isOwn(send)) continue
    const state = await settler.push(lease, send)
    if (state.state === 'pending') return true
    if (state.state === 'mined' && (state.receipt.succeeded || !(await settler.isBuried(state.receipt)))) return true
  }
  return false
}

/** The limit is the same in the trial and in the transaction: a wallet whose check takes more is refused while it is free. */
function callOf(asset: Address, { authorization, signature }: Payment): Call {
  const gas = signature.length === 132 ? GAS_OF_KEY : GAS_OF_CONTRACT
  return { to: asset, data: transferCall(authorization, signature), gas }
}

async function wasCancelled(
  { rpc, head, asset, settler }: InprocOptions,
  { from, nonce }: Authorization,
): Promise<boolean> {
  const { number } = await head.latest()
  const fromBlock = unknownPaymentStart(number)
  const transaction = await findAuthorization(rpc, asset, { from, nonce }, fromBlock).catch((error: unknown) => {
    // Nodes have thrown these blocks away: nobody can say that it was.
    if (error instanceof RpcError) return null
    throw error
  })
  const receipt = transaction && (await readReceipt(rpc, transaction))
  if (receipt === null || usedIn(receipt, asset, { from, nonce }) !== 'cancelled') return false
  return settler.isBuried(receipt)
}

/** The reason as of the block that it reverted in: until that lies deep a payer has time to make another reason of it. */
async function whyReverted(
  { rpc, asset, settler }: InprocOptions,
  { id }: PaidOrder,
  { gas, data }: Call,
  { blockNumber: block }: Receipt,
): Promise<SettlementRefusal> {
  // No fees: those of today may be too low for that block. Nodes forget old states; then there is no reason to tell.
  const terms = { from: settler.address, gas }
  const refusal = await transferRefusal(rpc, asset, { terms, data, block }).catch((error: unknown) => {
    if (!isProblem(error, 'chain_unavailable')) throw error
    return null
  })
  const { code } = problemOf(refusal ?? '')
  return { code, detail: `The chain refused the payment of order ${id}; nothing was taken.` }
}

type Payment = { readonly authorization: Authorization; readonly signature: Hex }

/** The token's own words, mapped to ours. */
function problemOf(refusal: string): Problem {
  if (/exceeds balance/.test(refusal))
    return new Problem('insufficient_funds', 'The paying wallet holds too little of the token.')
  if (/used or canceled/.test(refusal)) {
    return new Problem(
      'payment_conflict',
      'This payment was used or cancelled on the chain before it came here; sign a new one only if you know it did not pay.',
    )
  }
  if (/expired/.test(refusal))
    return new Problem('payment_expired', 'The payment has run out; pay the challenge in this answer.')
  if (/not yet valid/.test(refusal)) return new Problem('payment_expired', 'The payment is not valid yet on the chain.')
  if (OUT_OF_GAS.test(refusal))
    return new Problem(
      'payment_verification_failed',
      'Checking the signature takes more gas than a settlement may cost; pay from another wallet.',
    )
  return new Problem(
    'payment_verification_failed',
    'The token refuses this payment; check the signature and the token’s EIP-712 domain.',
  )
}
