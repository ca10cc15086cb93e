import { type Address, type Hash, sameAddress } from '../../base/address.ts'
import { Problem } from '../../base/problem.ts'
import { newestBlocks } from '../../chain/head.ts'
import { remembers } from '../../chain/memory.ts'
import { isAnswered } from '../../chain/node-agreement.ts'
import { type RawReceipt, type Receipt, readReceipt, readReceipts, receiptIn } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { findMemoTransfers, type MemoTransfer, memoTransfersByEach } from '../../chain/tip20.ts'
import { ANSWER_BYTES_MAX, LARGE_ANSWER_BYTES_MAX } from '../../chain/transport.ts'
import type { NodeQuorum } from '../../domain/rail.ts'
import { unknownPaymentStart } from '../search-start.ts'
import { isGenuine } from './charge.ts'
import { arrivedBy, type PushOptions } from './push.ts'
import { paidFor } from './settlement.ts'
import type { TransactionVerifier } from './verifier.ts'
import type { MppCredential } from './wire.ts'

type LandedOptions = {
  readonly rpc: Rpc
  readonly currency: { readonly address: Address }
  readonly verifier: () => Promise<TransactionVerifier>
}

/** The transaction in which this payment reached us, if it did. Whoever signed for us to send may have sent another one with the same memo. */
export async function landed(
  { rpc, verifier, currency: { address: currency } }: LandedOptions,
  push: PushOptions,
  credential: MppCredential,
  quorum: NodeQuorum,
): Promise<Hash | null> {
  const { proof, challenge, request } = credential
  if (proof.mode === 'push') {
    // Anybody can name any transaction.
    const look = { hash: proof.hash.toLowerCase() as Hash, bytesMax: ANSWER_BYTES_MAX }
    return (await isShown(rpc, look, quorum, (receipt) => arrivedBy(push, receipt) > 0n)) ? look.hash : null
  }
  const signed = await (await verifier()).signedTransferIn(credential)
  if (signed === null) return null
  const { hash, memo, sender } = signed
  const charge = { challengeId: challenge.id, realm: challenge.realm, currency }
  const asked = { ...charge, recipient: request.recipient, amount: BigInt(request.amount) }
  const look = { hash, bytesMax: LARGE_ANSWER_BYTES_MAX }
  if (await isShown(rpc, look, quorum, (receipt) => paidFor(receipt, asked) !== null)) return hash
  // What a stranger made up is not searched for.
  if (memo === null || sender === null || !isGenuine(push.terms, credential, 'then')) return null
  return byMemo(rpc, currency, { to: request.recipient, memo, from: sender, amount: asked.amount }, quorum)
}

/** One node may be behind, or hide it: where all are asked, nobody hears on the say of one node alone that nothing was taken. */
async function isShown(
  rpc: Rpc,
  { hash, bytesMax }: { readonly hash: Hash; readonly bytesMax: number },
  quorum: NodeQuorum,
  pays: (receipt: Receipt) => boolean,
): Promise<boolean> {
  const says = (receipt: Receipt | null) => receipt !== null && pays(receipt)
  if (quorum === 'one') return says(await readReceipt(rpc, hash, bytesMax))
  const answers = await readReceipts(rpc, hash, bytesMax)
  const isSaid = (raw: RawReceipt | null) => says(raw && receiptIn(raw, hash))
  if (answers.some((raw) => raw !== undefined && isSaid(raw))) return true
  if (!isAnswered(rpc, answers)) throw unsaid()
  return false
}

async function byMemo(
  rpc: Rpc,
  token: Address,
  paid: Omit<MemoTransfer, 'transaction'>,
  quorum: NodeQuorum,
): Promise<Hash | null> {
  const isIt = ({ from, amount }: MemoTransfer) => amount === paid.amount && sameAddress(from, paid.from)
  const { lower: newest } = await newestBlocks(rpc)
  const since = unknownPaymentStart(newest)
  const nodes = quorum === 'one' ? [rpc] : rpc.each()
  const answers =
    quorum === 'one'
      ? [await findMemoTransfers(rpc, token, paid, since)]
      : await memoTransfersByEach(rpc, token, paid, since)
  const found = answers.flatMap((transfers) => transfers ?? []).find(isIt)
  if (found) return found.transaction
  // Not every node refuses to search what it has thrown away: some find nothing.
  const memories = await Promise.all(nodes.map((node) => remembers(node, since)))
  const denials = answers.filter((_, index) => memories[index])
  const isDenied = quorum === 'one' ? denials.length > 0 : isAnswered(rpc, denials)
  if (!isDenied) throw unsaid()
  return null
}

function unsaid(): Problem {
  return new Problem('payment_conflict', 'Not enough nodes say now whether this payment landed.', {
    taken: 'unknown',
    action: 'none',
  })
}
