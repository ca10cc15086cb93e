import { type Hex, toHex } from '../../base/hex.ts'
import { keccak256 } from '../../base/keccak.ts'

// The attribution memo of MPP: tag (4) · version (1) · realm (10) · client (10) · challenge (7). Every charge carries one.

const TAG_AND_VERSION = `${toHex(keccak256(Buffer.from('mpp')).subarray(0, 4))}01`

/** Does this memo say: paid to this realm, for this challenge? The client's own ten bytes may be anything. */
export function isBoundTo(memo: Hex, realm: string, challengeId: string): boolean {
  const text = memo.toLowerCase()
  const realmPart = toHex(keccak256(Buffer.from(realm)).subarray(0, 10)).slice(2)
  const challengePart = toHex(keccak256(Buffer.from(challengeId)).subarray(0, 7)).slice(2)
  return (
    text.length === 66 &&
    text.startsWith(TAG_AND_VERSION) &&
    text.slice(12, 32) === realmPart &&
    text.endsWith(challengePart)
  )
}
