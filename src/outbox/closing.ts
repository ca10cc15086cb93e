import { toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import type { Send } from '../domain/journal.ts'

const CLOSE_ORDER = toHex(keccak256(Buffer.from('closeOrder(bytes32)')).subarray(0, 4))

/** Did it land although it was being given up? What would be signed for it now is the closing of its order, and no delivery. */
export function landedWhileClosing({ call, landing }: Send): boolean {
  return landing !== null && call.data.startsWith(CLOSE_ORDER)
}
