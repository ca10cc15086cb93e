import type { Address } from '../base/address.ts'
import { isProblem } from '../base/problem.ts'
import {
  type Authorization,
  authorizationBytes,
  type Domain,
  domainSeparator,
  findAuthorization,
  isAuthorizationUsed,
  transferCall,
  transferRefusal,
} from '../chain/eip3009.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { Call, Send } from '../domain/journal.ts'
import type { Lease } from '../domain/lease.ts'
import type { RefundOutcome, StillOwed } from '../domain/rail.ts'
import {
  blockOf,
  foundElsewhere,
  hasMoved,
  landedAmong,
  NOT_OWED,
  REFUND_STEP,
  type RefundTransfer,
  refundKey,
  refundSends,
  treasuriesOf,
  UNSEEN,
  waiting,
} from './refund.ts'
import type { Sender } from './sender.ts'
import type { Wallet } from './wallet.ts'

/** A token of EIP-3009, the treasury that has it, and the key that sends and pays for gas. */
type AuthorizedRefunds = {
  readonly rpc: Rpc
  readonly domain: Domain
  readonly treasury: Wallet
  readonly sender: Sender
}

const GAS = 150_000n
/** Year 2100. What goes back stays owed, and the token takes each only once. */
const VALID_BEFORE = '4102444800'

/**
 * Pays back once. The treasury signs a transfer under a nonce that is the payment's own name, and the token refuses a second one: whoever
 * sends it, however often, from whichever store.
 */
export async function refundByAuthorization(
  way: AuthorizedRefunds,
  refund: RefundTransfer,
  errand: { readonly lease: Lease; readonly stillOwed: StillOwed },
): Promise<RefundOutcome> {
  const { rpc, sender, domain } = way
  const sends = refundSends(await sender.sendsOf(refund.orderId), sender.chainId)
  const from = await usedBy(way, refund)
  if (from) return whereUsed(way, refund, sends, from)
  // Bytes that are out there stay good, whichever treasury has signed them.
  const recorded = sends.at(-1)?.call ?? null
  if (!(await errand.stillOwed())) return waiting(NOT_OWED)
  try {
    if (!recorded) await sender.assertFunded(GAS)
    const call = recorded ?? (await signed(way, refund))
    const terms = { from: sender.address, gas: call.gas }
    const refusal = await transferRefusal(rpc, domain.token, { terms, data: call.data })
    if (refusal !== null) return waiting(`The refund would fail: ${refusal}. Is the treasury funded?`)
    return await outcomeOf(way, refund, { lease: errand.lease, call, sends })
  } catch (error) {
    if (!isProblem(error, 'relayer_unfunded')) throw error
    return waiting(`${sender.address} cannot pay for the gas of the refund.`)
  }
}

/** Which treasury has paid it back; null: none of those that there ever were. */
async function usedBy(
  { rpc, domain, treasury, sender }: AuthorizedRefunds,
  { name }: RefundTransfer,
): Promise<Address | null> {
  const nonce = refundKey(name)
  for (const from of await treasuriesOf(sender, treasury.address))
    if (await isAuthorizationUsed(rpc, domain.token, { from, nonce })) return from
  return null
}

async function signed({ domain, treasury }: AuthorizedRefunds, { name, to, amount }: RefundTransfer): Promise<Call> {
  const authorization: Authorization = {
    from: treasury.address,
    to,
    value: amount.toString(),
    validAfter: '0',
    validBefore: VALID_BEFORE,
    nonce: refundKey(name),
  }
  const { r, s, yParity } = await treasury.sign(authorizationBytes(domainSeparator(domain), authorization))
  const signature = `${r}${s.slice(2)}${yParity === 0 ? '1b' : '1c'}` as const
  return { to: domain.token, data: transferCall(authorization, signature), gas: GAS }
}

/** The token refuses a second one, so those that reverted do not stand in the way of another. */
async function failed(sender: Sender, sends: readonly Send[]): Promise<readonly Send[]> {
  const own = sends.filter(sender.isOwn)
  const states = await Promise.all(own.map(sender.look))
  return own.filter((_, index) => {
    const state = states[index]!
    return state.state === 'mined' && !state.receipt.succeeded
  })
}

async function outcomeOf(
  { sender }: AuthorizedRefunds,
  refund: RefundTransfer,
  { lease, call, sends }: { readonly lease: Lease; readonly call: Call; readonly sends: readonly Send[] },
): Promise<RefundOutcome> {
  const { orderId } = refund
  const { send, state } = await sender.send({ lease, orderId, step: REFUND_STEP }, call, await failed(sender, sends))
  if (state.state === 'pending') return waiting('The refund waits for the chain.', state.hash)
  if (state.state === 'superseded' || !state.receipt.succeeded)
    return waiting('The refund reverted; is the treasury funded?')
  const { receipt } = state
  const from: Address = `0x${call.data.slice(34, 74)}`
  if (!hasMoved(receipt, refund, from)) return waiting('The refund landed, and its transfer is not shown yet.')
  await sender.land(send, receipt)
  return { kind: 'refunded', transaction: receipt.transactionHash }
}

/** The token says that it was paid back; this tells by which transaction. */
async function whereUsed(
  way: AuthorizedRefunds,
  refund: RefundTransfer,
  sends: readonly Send[],
  from: Address,
): Promise<RefundOutcome> {
  const own = await landedAmong(way, refund, sends, from)
  if (own) return own
  const since = await blockOf(way.rpc, refund)
  if (since === null) return waiting(UNSEEN)
  const authorization = { from, nonce: refundKey(refund.name) }
  const found = await findAuthorization(way.rpc, way.domain.token, authorization, since)
  return foundElsewhere(way, refund, from, found ? [found] : [])
}
