import { type Address, type Hash, sameAddress } from '../../base/address.ts'
import { type Receipt, readReceipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import { findMemoTransfers, type MemoTransfer } from '../../chain/tip20.ts'
import { ANSWER_BYTES_MAX, LARGE_ANSWER_BYTES_MAX } from '../../chain/transport.ts'
import { unknownPaymentStart } from '../confirmations.ts'
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
): Promise<Hash | null> {
  const { proof, challenge, request } = credential
  if (proof.mode === 'push') {
    // Anybody can name any transaction.
    const look = { hash: proof.hash.toLowerCase() as Hash, bytesMax: ANSWER_BYTES_MAX }
    return (await isShown(rpc, look, (receipt) => arrivedBy(push, receipt) > 0n)) ? look.hash : null
  }
  const signed = await (await verifier()).signedTransferIn(credential)
  if (signed === null) return null
  const { hash, memo, sender } = signed
  const charge = { challengeId: challenge.id, realm: challenge.realm, currency }
  const asked = { ...charge, recipient: request.recipient, amount: BigInt(request.amount) }
  const look = { hash, bytesMax: LARGE_ANSWER_BYTES_MAX }
  if (await isShown(rpc, look, (receipt) => paidFor(receipt, asked) !== null)) return hash
  // What a stranger made up is not searched for.
  if (memo === null || sender === null || !isGenuine(push.terms, credential, 'then')) return null
  return byMemo(rpc, currency, { to: request.recipient, memo, from: sender, amount: asked.amount })
}

async function isShown(
  rpc: Rpc,
  { hash, bytesMax }: { readonly hash: Hash; readonly bytesMax: number },
  pays: (receipt: Receipt) => boolean,
): Promise<boolean> {
  const receipt = await readReceipt(rpc, hash, bytesMax)
  return receipt !== null && pays(receipt)
}

async function byMemo(rpc: Rpc, token: Address, paid: Omit<MemoTransfer, 'transaction'>): Promise<Hash | null> {
  const { number: newest } = await rpc.newest()
  const found = await findMemoTransfers(rpc, token, paid, unknownPaymentStart(newest))
  return found.find(({ from, amount }) => amount === paid.amount && sameAddress(from, paid.from))?.transaction ?? null
}
