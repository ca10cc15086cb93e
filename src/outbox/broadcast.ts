import { RpcError } from '../chain/rpc.ts'
import type { Send, SignedVersion } from '../domain/journal.ts'
import { landedWhileClosing } from './closing.ts'
import type { NonceQueue } from './queue.ts'
import { byFee } from './sign.ts'

/** Whether the node would take other fees: `dear` more than the wallet has, `cheap` less than a block wants. Null: nothing speaks against them. */
export type FeeRefusal = 'dear' | 'cheap' | null

const KNOWN = /already known|already imported|known transaction/i
const NONCE_GONE = /nonce too low|nonce is too low|old nonce/i
const TOO_DEAR = /insufficient (funds|fee token balance)/i
const TOO_CHEAP = /less than block base fee|underpriced|fee too low|max fee per gas/i

/** Hands signed bytes to the node. They are written down, so whatever it answers, the receipt decides. */
export async function broadcast(queue: NonceQueue, send: Send): Promise<FeeRefusal> {
  let refusal: FeeRefusal = null
  for (const version of worthSending(queue, send)) refusal = await hand(queue, send, version)
  return refusal
}

/** Once more, and to every node: the one that is asked first may have taken the bytes and thrown them away. */
export async function broadcastAgain(queue: NonceQueue, send: Send): Promise<FeeRefusal> {
  const { rpc } = queue
  for (const { raw } of rpc.standing().length > 1 ? worthSending(queue, send) : [])
    await rpc.everyone('eth_sendRawTransaction', [raw])
  return broadcast(queue, send)
}

/** Every version may land, so all that the wallet can pay are kept alive, the dearest last: it replaces the others where it can. */
function worthSending({ gas }: NonceQueue, send: Send): readonly SignedVersion[] {
  const { versions, call, landing } = send
  if (landedWhileClosing(send)) return versions.filter(({ hash }) => hash === landing?.hash)
  const newest = versions.at(-1)!
  if (versions.length === 1) return versions
  const wei = gas.known()
  const isPayable = ({ fees }: SignedVersion) => wei === null || call.gas * fees.maxFeePerGas <= wei
  return versions.filter((one) => one === newest || isPayable(one)).toSorted(byFee)
}

async function hand(queue: NonceQueue, { nonce, step }: Send, { raw, hash }: SignedVersion): Promise<FeeRefusal> {
  const { rpc, log, chainId, signer, row } = queue
  try {
    await rpc.request('eth_sendRawTransaction', [raw])
    return null
  } catch (error) {
    const words = error instanceof RpcError ? error.message : ''
    if (KNOWN.test(words)) return null
    // The nonce is used, perhaps by this very transaction; the next one is asked for again.
    if (NONCE_GONE.test(words)) row.next = null
    log.warn('broadcast not accepted', { chainId, signer, nonce, step, hash, error })
    return TOO_DEAR.test(words) ? 'dear' : TOO_CHEAP.test(words) ? 'cheap' : null
  }
}
