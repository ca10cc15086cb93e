import { parseAbi } from 'viem/utils'
import type { Address, Hash } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { contractAt } from '../chain/contract.ts'
import { logsSince } from '../chain/logs.ts'
import type { Rpc } from '../chain/rpc.ts'
import { TRANSFER_WITH_MEMO } from '../chain/tip20.ts'
import { wordOfAddress } from '../chain/words.ts'
import type { Send } from '../domain/journal.ts'
import type { RefundOutcome } from '../domain/rail.ts'
import { type FarSide, type RefundJob, type RefundTransfer, refundKey, refundOnce } from './refund.ts'
import type { Sender } from './sender.ts'

/** The treasury of a Tempo chain. It pays the fees in the token that it sends. */
type KeyedRefunds = { readonly rpc: Rpc; readonly treasury: Sender }

const NONCE_MANAGER: Address = '0x4e4F4E4345000000000000000000000000000000'
const nonceAbi = parseAbi(['function getNonce(address account, uint256 nonceKey) view returns (uint64)'])
const tokenAbi = parseAbi(['function transferWithMemo(address to, uint256 amount, bytes32 memo)'])

/** Measured on Tempo: 94,000 for the first transfer to an address. A new slot may come to cost 250,000 (TIP-1000). */
const GAS = 700_000n

/**
 * A key of Tempo has a row of nonces for each number of our choice. This number is the payment's own name, so the chain takes one transaction under
 * nonce 0. Only after that one has reverted for good another is signed, under nonce 1.
 */
export function refundByNonceKey(
  { rpc, treasury }: KeyedRefunds,
  refund: RefundTransfer,
  job: RefundJob,
): Promise<RefundOutcome> {
  const far: FarSide = {
    rpc,
    sender: treasury,
    treasury: treasury.address,
    async isUsed({ name }, from, sends) {
      const { to, data } = contractAt(rpc, NONCE_MANAGER, nonceAbi).question('getNonce', [from, BigInt(keyOf(name))])
      const counted = Number(await rpc.request<Hex>('eth_call', [{ to, data }, 'latest']))
      return counted > ofSigner(sends, from).length
    },
    async usesSince({ token, to, name }, from, block) {
      const topics = [TRANSFER_WITH_MEMO, `0x${wordOfAddress(from)}`, `0x${wordOfAddress(to)}`, refundKey(name)]
      const logs = await logsSince(rpc, { address: token, topics }, block)
      return logs.map((log) => log.transactionHash.toLowerCase() as Hash)
    },
    async sign({ token, to, amount, name }) {
      const data = contractAt(rpc, token, tokenAbi).encode('transferWithMemo', [to, amount, refundKey(name)])
      return { to: token, data, gas: GAS }
    },
    send(step, call, failed, { name }) {
      const nonce = ofSigner(failed, treasury.address).length
      return treasury.sendKeyed(step, call, { nonceKey: keyOf(name), nonce })
    },
  }
  return refundOnce(far, refund, job)
}

function ofSigner(sends: readonly Send[], signer: Address): readonly Send[] {
  return sends.filter((send) => send.signer === signer)
}

/** Numbers that begin with certain bytes are Tempo's own, so ours begin with none. */
function keyOf(name: string): Hex {
  return `0x${refundKey(name).slice(4)}`
}
