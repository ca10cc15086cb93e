import { randomBytes } from 'node:crypto'

/** The only source of randomness. Tests may hand in a seeded one. */
export type Random = { bytes(length: number): Uint8Array }

const POOL_BYTES = 4096
let pool = new Uint8Array()
let used = 0

/** From a pool that is filled 4 KiB at a time: one call of the operating system costs as much as the rest of a short answer. */
export const systemRandom: Random = {
  bytes(length) {
    if (length > POOL_BYTES) return randomBytes(length)
    if (pool.length - used < length) {
      pool = randomBytes(POOL_BYTES)
      used = 0
    }
    used += length
    // A copy, so that nobody who keeps it keeps the pool alive.
    return pool.slice(used - length, used)
  },
}

// Crockford's alphabet: no letter that reads like a digit, no word by accident.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

export type IdPrefix = 'ord' | 'arr' | 'req' | 'flow' | 'evt' | 'rep' | 'rfd' | 'whk' | 'msg' | 'job' | 'ply' | 'qte'

/** `ord_` and 26 letters: 128 random bits. Nothing about order or time can be read from an id (RELIABILITY A-07). */
export function newId(prefix: IdPrefix, random: Random): string {
  return `${prefix}_${encode(random.bytes(16))}`
}

function encode(bytes: Uint8Array): string {
  let text = ''
  let buffer = 0
  let bits = 0
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte
    bits += 8
    while (bits >= 5) {
      bits -= 5
      text += ALPHABET[(buffer >> bits) & 31]
    }
    buffer &= (1 << bits) - 1
  }
  return bits > 0 ? text + ALPHABET[(buffer << (5 - bits)) & 31] : text
}
