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
    // A part of the pool itself, and nobody else's: a pool that is used up is left to whoever holds parts of it.
    return pool.subarray(used - length, used)
  },
}

// Crockford's alphabet: no letter that reads like a digit, no word by accident.
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
/** Two letters for each ten bits. */
const PAIRS = Array.from({ length: 1024 }, (_, bits) => ALPHABET[bits >> 5]! + ALPHABET[bits & 31]!)

type IdPrefix =
  | 'ord'
  | 'trf'
  | 'trb'
  | 'req'
  | 'flow'
  | 'evt'
  | 'rep'
  | 'rfd'
  | 'whk'
  | 'msg'
  | 'job'
  | 'ply'
  | 'wit'
  | 'note'
  | 'rpl'
  | 'qte'
  | 'deed'
  | 'call'
  | 'opr'
  | 'ses'
  | 'tok'
  | 'psk'
  | 'apv'

/** `ord_` and 26 letters: 128 random bits and two that are nothing. Nothing about order or time can be read from an id. */
export function newId(prefix: IdPrefix, random: Random): string {
  return `${prefix}_${encode(random.bytes(16))}`
}

function encode(bytes: Uint8Array): string {
  let text = ''
  let buffer = 0
  let bits = 0
  for (let i = 0; i < bytes.length; i++) {
    buffer = ((buffer & 0x3ff) << 8) | bytes[i]!
    bits += 8
    if (bits < 10) continue
    bits -= 10
    text += PAIRS[(buffer >> bits) & 0x3ff]
  }
  return bits > 0 ? text + PAIRS[(buffer << (10 - bits)) & 0x3ff] : text
}
