import type { Send, SignedVersion } from '../../domain/journal.ts'
import { RpcError } from '../rpc.ts'
import { VOID_GAS } from '../wallet.ts'
import type { Lane } from './lane.ts'
import { byFee } from './sign.ts'

/** Whether the node would take other fees: `dear` more than the wallet has, `cheap` less than a block wants. Null: nothing speaks against them. */
export type FeeRefusal = 'dear' | 'cheap' | null

const KNOWN = /already known|already imported|known transaction/i
const NONCE_GONE = /nonce too low|nonce is too low|old nonce/i
const TOO_DEAR = /insufficient (funds|fee token balance)/i
const TOO_CHEAP = /less than block base fee|underpriced|fee too low|max fee per gas/i

/** Hands signed bytes to the node. Whatever it says, the bytes are written down and the receipt decides. */
export async function broadcast(lane: Lane, send: Send): Promise<FeeRefusal> {
  let refusal: FeeRefusal = null
  for (const version of worthSending(lane, send)) refusal = await hand(lane, send, version)
  return refusal
}

/** Once more, and to every node: the one that is asked first may have taken the bytes and thrown them away. */
export async function broadcastAgain(lane: Lane, send: Send): Promise<FeeRefusal> {
  const { second } = lane.rpc
  for (const { raw } of second ? worthSending(lane, send) : [])
    await second?.request('eth_sendRawTransaction', [raw]).catch(() => {})
  return broadcast(lane, send)
}

/** Every version may land, so all that the wallet can pay are kept alive, the dearest last: it replaces the others where it can. */
function worthSending({ tank }: Lane, { versions, call }: Send): readonly SignedVersion[] {
  const newest = versions.at(-1)!
  if (versions.length === 1) return newest.raw === '0x' ? [] : [newest]
  const wei = tank.known()
  const isPayable = ({ fees, isVoid }: SignedVersion) =>
    wei === null || (isVoid ? VOID_GAS : call.gas) * fees.maxFeePerGas <= wei
  const kept = versions.filter((one) => one.raw !== '0x' && (one === newest || isPayable(one)))
  // What is to be cancelled must not be helped to land.
  const wanted = newest.isVoid ? kept.filter(({ isVoid }) => isVoid) : kept
  return wanted.toSorted(byFee)
}

async function hand(lane: Lane, { nonce, step }: Send, { raw, hash }: SignedVersion): Promise<FeeRefusal> {
  const { rpc, log, chainId, signer, row } = lane
  try {
    await rpc.request('eth_sendRawTransaction', [raw])
    return null
  } catch (error) {
    const words = error instanceof RpcError ? error.message : ''
    if (KNOWN.test(words)) return null
    // Somebody took the nonce, perhaps this very transaction; the next one is asked for again.
    if (NONCE_GONE.test(words)) row.next = null
    log.warn('broadcast not accepted', { chainId, signer, nonce, step, hash, error })
    return TOO_DEAR.test(words) ? 'dear' : TOO_CHEAP.test(words) ? 'cheap' : null
  }
}
