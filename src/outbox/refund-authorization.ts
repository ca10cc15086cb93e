import {
  type Authorization,
  authorizationBytes,
  type Domain,
  domainSeparator,
  findAuthorization,
  isAuthorizationUsed,
  transferCall,
} from '../chain/eip3009.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { RefundOutcome } from '../domain/rail.ts'
import { type FarSide, type RefundJob, type RefundTransfer, refundKey, refundOnce } from './refund.ts'
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

/** The treasury signs a transfer under a nonce that is the payment's own name, and the token refuses a second one. */
export function refundByAuthorization(
  { rpc, domain, treasury, sender }: AuthorizedRefunds,
  refund: RefundTransfer,
  job: RefundJob,
): Promise<RefundOutcome> {
  const { token } = domain
  const far: FarSide = {
    rpc,
    sender,
    treasury: treasury.address,
    isUsed: ({ name }, from) => isAuthorizationUsed(rpc, token, { from, nonce: refundKey(name) }),
    async usesSince({ name }, from, block) {
      const found = await findAuthorization(rpc, token, { from, nonce: refundKey(name) }, block)
      return found ? [found] : []
    },
    async sign({ name, to, amount }) {
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
      return { to: token, data: transferCall(authorization, signature), gas: GAS }
    },
    send: (step, call, failed) => sender.send(step, call, failed.filter(sender.isOwn)),
  }
  return refundOnce(far, refund, job)
}
