import type { Hash } from '../../base/address.ts'
import { type Hex, toHex } from '../../base/hex.ts'
import { keccak256 } from '../../base/keccak.ts'

// The attribution memo of MPP: tag (4) · version (1) · realm (10) · client (10) · challenge (7). Every charge carries one.

const TAG_AND_VERSION = `${toHex(keccak256(Buffer.from('mpp')).subarray(0, 4))}01`

/** The part of a memo that names the challenge it pays: fourteen hexadecimal digits. */
export function challengeTag(challengeId: string): string {
  return toHex(keccak256(Buffer.from(challengeId)).subarray(0, 7)).slice(2)
}

/** The same, read from a memo on the chain; null when it is no memo of this protocol. */
export function tagIn(memo: Hex): string | null {
  return memo.toLowerCase().startsWith(TAG_AND_VERSION) ? memo.toLowerCase().slice(-14) : null
}

/**
 * A payment's name on the chain: its transaction, and which challenge it pays there. The transaction alone would not do: its hash is
 * public, and whoever showed it first, under a challenge that it does not pay, would take it away from the one who paid.
 */
export function transferIdentity(network: string, tag: string, hash: Hash): string {
  return `mpp:${network}/transfer/${tag}/${hash}`
}

/** Does this memo say: paid to this realm, for this challenge? The client's own ten bytes may be anything. */
export function isBoundTo(memo: Hex, realm: string, challengeId: string): boolean {
  const text = memo.toLowerCase()
  const realmPart = toHex(keccak256(Buffer.from(realm)).subarray(0, 10)).slice(2)
  return (
    text.length === 66 &&
    text.startsWith(TAG_AND_VERSION) &&
    text.slice(12, 32) === realmPart &&
    text.endsWith(challengeTag(challengeId))
  )
}
