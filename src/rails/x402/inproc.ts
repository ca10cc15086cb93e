import type { Address } from '../../base/address.ts'
import type { Hex } from '../../base/hex.ts'
import { Problem } from '../../base/problem.ts'
import { sendAgain } from '../../chain/attempts.ts'
import { codeSuspects, readCode } from '../../chain/code.ts'
import { OUT_OF_GAS } from '../../chain/contract.ts'
import {
  type Authorization,
  findAuthorization,
  isAuthorizationUsed,
  transferCall,
  transferRefusal,
} from '../../chain/eip3009.ts'
import { GAS_OF_CONTRACT } from '../../chain/erc1271.ts'
import { blockTime, type HeadSource } from '../../chain/head.ts'
import type { Receipt } from '../../chain/receipt.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { Sender } from '../../chain/sender.ts'
import { isTokenPaused, TOKEN_PAUSED } from '../../chain/tokens.ts'
import type { Call } from '../../domain/journal.ts'
import type { PaidOrder } from '../../domain/rail.ts'
import type { Facilitator } from './facilitator.ts'
import { keptPayment, type SettlementReader, type SettlementRefusal } from './settlement.ts'

// A fixed limit instead of an estimate saves a call; FiatToken needs about 75,000. A contract wallet may burn more, and no more than this.
const GAS_OF_KEY = 150_000n

/** A payment lives for minutes, so its cancellation is not further back than this. */
const SEARCH_BLOCKS = 2_000n

/** Too late to reach the chain: sending would only pay gas for a revert. */
const MS_TO_LAND = 2_000

export function inprocFacilitator(options: {
  rpc: Rpc
  head: HeadSource
  asset: Address
  settler: Sender
  reader: SettlementReader
  now: () => number
}): Facilitator {
  const { rpc, head, asset, settler, reader, now } = options

  return {
    kind: 'inproc',

    async verify({ payload }) {
      const call = callOf(payload)
      await settler.assertFunded(call.gas)
      await settler.assertClear()
      const refusal = await transferRefusal(rpc, asset, await settler.terms(call.gas), call.data)
      if (refusal === null) return
      if (/used or canceled/.test(refusal) && (await wasCancelled(payload.authorization))) {
        throw new Problem(
          'payment_cancelled',
          'The payer cancelled this payment on the chain; pay the challenge in this answer.',
        )
      }
      // Its words alone prove nothing: a wallet's own code may have said them.
      if (/paused/i.test(refusal) && (await isTokenPaused(rpc, asset)))
        throw new Problem('surface_closed', TOKEN_PAUSED)
      throw problemOf(refusal)
    },

    async settle(order, lease) {
      const kept = keptPayment(order)
      if (now() > order.expiresAt - MS_TO_LAND) return (await reader.find(order)) ?? reader.absent(order, null)
      const call = callOf(kept)
      const errand = { lease, orderId: order.id, step: 'settle' }
      // The first send needs no look at the journal, which tells of a duplicate by itself; only a lost nonce needs another try.
      const first = await settler.send(errand, call)
      const state = first.state === 'void' ? (await sendAgain(settler, errand, call)).state : first
      if (state.state === 'mined') {
        const outcome = await reader.judge(order, state.receipt)
        if (outcome) return outcome
      }
      // Reverted, or not there yet: somebody else may have brought the same payment to the chain first, and then we are paid.
      const found = await reader.find(order)
      if (found) return found
      if (state.state !== 'mined') return reader.absent(order, null, state.state === 'pending' ? state.hash : undefined)
      // The node that was just asked may be behind the one that showed the receipt; as of the receipt's own block there is no doubt.
      if (await isAuthorizationUsed(rpc, asset, kept.authorization, state.receipt.blockNumber))
        return reader.absent(order, null)
      // The same transaction may be mined anew, in a block that replaces this one, and take the money then.
      if (!(await reader.isIrrevocable(order, state.receipt)))
        return reader.absent(order, null, state.receipt.transactionHash)
      return reader.absent(order, await whyReverted(order, call, state.receipt))
    },
  }

  /** The limit is the same in the trial and in the transaction: a wallet whose check takes more is refused while it is free. */
  function callOf({ authorization, signature }: Payment): Call {
    const gas = signature.length === 132 ? GAS_OF_KEY : GAS_OF_CONTRACT
    return { to: asset, data: transferCall(authorization, signature), gas }
  }

  async function wasCancelled({ from, nonce }: Authorization): Promise<boolean> {
    const { number } = await head.latest()
    const fromBlock = number > SEARCH_BLOCKS ? number - SEARCH_BLOCKS : 0n
    return (await findAuthorization(rpc, asset, { from, nonce }, fromBlock))?.kind === 'cancelled'
  }

  /** Null when it was spent after all, a moment ago: the next look will find it. */
  async function whyReverted(
    order: PaidOrder,
    { gas, data }: Call,
    reverted: Receipt,
  ): Promise<SettlementRefusal | null> {
    const { code } = problemOf((await transferRefusal(rpc, asset, await settler.terms(gas), data)) ?? '')
    if (code === 'payment_conflict') return null
    // Whoever signed for long enough is not to blame when we were slow. And a wallet's code is, only when its own check said no: whoever has no
    // money any more may use the same wallet as everybody.
    const isLate = (await blockTime(rpc, reverted.blockNumber)) >= order.expiresAt
    const isCodes = code === 'payment_verification_failed'
    return {
      code,
      detail: `The chain refused the payment of order ${order.id}; nothing was taken.`,
      isPayersFault: !isLate,
      suspects: isCodes ? codeSuspects(await readCode(rpc, order.payer)) : [],
    }
  }
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
