import { parseAbi } from 'viem/utils'
import type { Address, Hash } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { contractAt } from '../chain/contract.ts'
import { transferRefusal } from '../chain/eip3009.ts'
import { logsSince } from '../chain/logs.ts'
import type { Rpc } from '../chain/rpc.ts'
import { TRANSFER_WITH_MEMO } from '../chain/tip20.ts'
import { wordOfAddress } from '../chain/words.ts'
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

/** The treasury of a Tempo chain. It pays the fees in the token that it sends. */
type KeyedRefunds = { readonly rpc: Rpc; readonly treasury: Sender }

type Errand = { readonly lease: Lease; readonly stillOwed: StillOwed }

const NONCE_MANAGER: Address = '0x4e4F4E4345000000000000000000000000000000'
const nonceAbi = parseAbi(['function getNonce(address account, uint256 nonceKey) view returns (uint64)'])
const tokenAbi = parseAbi(['function transferWithMemo(address to, uint256 amount, bytes32 memo)'])

/** Measured on Tempo: 94,000 for the first transfer to an address. A new slot may come to cost 250,000 (TIP-1000). */
const GAS = 700_000n

/**
 * Pays back once. A key of Tempo has a row of nonces for each number of our choice; this number is the payment's own name, so the chain takes
 * one transaction under nonce 0. Only after that one has reverted for good another is signed, under nonce 1.
 */
export async function refundByNonceKey(
  way: KeyedRefunds,
  refund: RefundTransfer,
  errand: Errand,
): Promise<RefundOutcome> {
  const { treasury } = way
  const sends = refundSends(await treasury.sendsOf(refund.orderId), treasury.chainId)
  const known = sends.length > 0 ? await outcomeOf(way, refund, errand, sends) : null
  return known ?? (await sentFromElsewhere(way, refund, sends)) ?? signNext(way, refund, errand, sends)
}

/** What became of the newest try. Null: it has reverted for good. */
async function outcomeOf(
  way: KeyedRefunds,
  refund: RefundTransfer,
  { lease, stillOwed }: Errand,
  sends: readonly Send[],
): Promise<RefundOutcome | null> {
  const { treasury } = way
  const newest = sends.at(-1)!
  for (const from of new Set(sends.map(({ signer }) => signer))) {
    const landed = await landedAmong({ rpc: way.rpc, sender: treasury }, refund, sends, from)
    if (landed) return landed
  }
  const state = (await stillOwed()) ? await treasury.push(lease, newest) : await treasury.look(newest)
  if (state.state !== 'mined') return waiting('The refund waits for the chain.', newest.versions[0]!.hash)
  const { receipt } = state
  if (hasMoved(receipt, refund, newest.signer)) return landedNow(way, newest, receipt)
  if (receipt.succeeded) return waiting('The refund landed, and its transfer is not shown yet.')
  if (!(await treasury.isBuried(receipt)))
    return waiting('The refund reverted; the chain has to settle before another one is sent.')
  return null
}

async function landedNow(
  { treasury }: KeyedRefunds,
  send: Send,
  receipt: Parameters<Sender['land']>[1],
): Promise<RefundOutcome> {
  await treasury.land(send, receipt)
  return { kind: 'refunded', transaction: receipt.transactionHash }
}

/** The chain has counted more under this name than our store knows of: another one has sent it, or this one before it was restored. */
async function sentFromElsewhere(
  { rpc, treasury }: KeyedRefunds,
  refund: RefundTransfer,
  sends: readonly Send[],
): Promise<RefundOutcome | null> {
  for (const from of await treasuriesOf(treasury, treasury.address)) {
    const counted = await countedUnder(rpc, from, keyOf(refund))
    if (counted <= sends.filter(({ signer }) => signer === from).length) continue
    const since = await blockOf(rpc, refund)
    if (since === null) return waiting(UNSEEN)
    return foundElsewhere({ rpc, sender: treasury }, refund, from, await transactionsWith(rpc, refund, from, since))
  }
  return null
}

async function countedUnder(rpc: Rpc, from: Address, nonceKey: Hex): Promise<number> {
  const { to, data } = contractAt(rpc, NONCE_MANAGER, nonceAbi).question('getNonce', [from, BigInt(nonceKey)])
  return Number(await rpc.request<Hex>('eth_call', [{ to, data }, 'latest']))
}

async function transactionsWith(
  rpc: Rpc,
  { token, to, name }: RefundTransfer,
  from: Address,
  since: bigint,
): Promise<Hash[]> {
  const topics = [TRANSFER_WITH_MEMO, `0x${wordOfAddress(from)}`, `0x${wordOfAddress(to)}`, refundKey(name)]
  const logs = await logsSince(rpc, { address: token, topics }, since)
  return logs.map((log) => log.transactionHash.toLowerCase() as Hash)
}

async function signNext(
  way: KeyedRefunds,
  refund: RefundTransfer,
  { lease, stillOwed }: Errand,
  sends: readonly Send[],
): Promise<RefundOutcome> {
  const { rpc, treasury } = way
  const { orderId, token } = refund
  if (!(await stillOwed())) return waiting(NOT_OWED)
  const call = callOf(rpc, refund)
  const refusal = await transferRefusal(rpc, token, { terms: await treasury.terms(GAS), data: call.data })
  if (refusal !== null) return waiting(`The refund would fail: ${refusal}. Is the treasury funded?`)
  const nonce = sends.filter(({ signer }) => signer === treasury.address).length
  const errand = { lease, orderId, step: REFUND_STEP }
  const { send, state } = await treasury.sendKeyed(errand, call, { nonceKey: keyOf(refund), nonce })
  if (state.state === 'mined' && hasMoved(state.receipt, refund, treasury.address))
    return landedNow(way, send, state.receipt)
  return waiting('The refund waits for the chain.', send.versions[0]!.hash)
}

function callOf(rpc: Rpc, { token, to, amount, name }: RefundTransfer): Call {
  const data = contractAt(rpc, token, tokenAbi).encode('transferWithMemo', [to, amount, refundKey(name)])
  return { to: token, data, gas: GAS }
}

/** Numbers that begin with certain bytes are Tempo's own, so ours begin with none. */
function keyOf({ name }: RefundTransfer): Hex {
  return `0x${refundKey(name).slice(4)}`
}
