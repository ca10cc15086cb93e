import { type Address, checksumAddress, type Hash, sameAddress } from '../base/address.ts'
import { type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import { logsSince } from './logs.ts'
import type { EvmLog, Receipt } from './receipt.ts'
import type { Rpc } from './rpc.ts'
import { wordOfAddress } from './words.ts'

export const TRANSFER_WITH_MEMO = toHex(keccak256(Buffer.from('TransferWithMemo(address,address,uint256,bytes32)')))

/** A transfer that carries 32 bytes of our choice, which the chain indexes: how a payment is found again. */
export type MemoTransfer = {
  readonly from: Address
  readonly to: Address
  readonly amount: bigint
  readonly memo: Hex
  readonly transaction: Hash
}

export function memoTransfers(receipt: Receipt, token: Address): readonly MemoTransfer[] {
  return receipt.logs.filter((log) => sameAddress(log.address, token) && log.topics[0] === TRANSFER_WITH_MEMO).map(read)
}

/** The memo of one plain `Transfer` log: the token tells of it right after the transfer. Null for a transfer without one. */
export function memoBehind(receipt: Receipt, token: Address, transferLogIndex: number): Hex | null {
  const after = receipt.logs.find((log) => sameAddress(log.address, token) && Number(log.logIndex) > transferLogIndex)
  return after?.topics[0] === TRANSFER_WITH_MEMO ? after.topics[3]! : null
}

/** By memo alone: it is bound to one challenge of ours, so whoever sent it paid that challenge. */
export async function findMemoTransfers(
  rpc: Rpc,
  token: Address,
  { to, memo }: Pick<MemoTransfer, 'to' | 'memo'>,
  fromBlock: bigint,
): Promise<readonly MemoTransfer[]> {
  return (await logsSince(rpc, memosOf(token, { to, memo }), fromBlock)).map(read)
}

function memosOf(token: Address, { to, memo }: Pick<MemoTransfer, 'to' | 'memo'>): object {
  const topics = [TRANSFER_WITH_MEMO, null, `0x${wordOfAddress(to)}`, memo]
  return { address: token, topics }
}

function read(log: EvmLog): MemoTransfer {
  const addressAt = (index: number) => checksumAddress(`0x${log.topics[index]!.slice(26)}`)
  return {
    from: addressAt(1),
    to: addressAt(2),
    amount: BigInt(log.data),
    memo: log.topics[3]!,
    transaction: log.transactionHash.toLowerCase() as Hash,
  }
}
