/** What the seed decides. */
export type Chance = {
  /** A whole number from 0 to n - 1. */
  below(n: number): number
  happens(probability: number): boolean
  pick<T>(list: readonly T[]): T
  bytes(length: number): Uint8Array
}

/**
 * Each purpose has a stream of its own: whoever is left out of a universe, a fault or a payer, does not shift what all the others decide,
 * and a universe can be shrunk.
 */
export function chanceOf(seed: number, purpose: string): Chance {
  const state = stateOf(`${seed} ${purpose}`)
  /** Marsaglia's xorshift of 128 bits: 32 of them at a time. */
  const next = (): number => {
    const first = state[0]! ^ (state[0]! << 11)
    state.copyWithin(0, 1)
    state[3] = state[3]! ^ (state[3]! >>> 19) ^ first ^ (first >>> 8)
    return state[3]!
  }
  for (let i = 0; i < 8; i++) next()
  const part = () => next() / 2 ** 32
  return {
    below: (n) => Math.floor(part() * n),
    happens: (probability) => part() < probability,
    pick: (list) => list[Math.floor(part() * list.length)]!,
    bytes(length) {
      const bytes = new Uint8Array(length)
      for (let i = 0; i < length; i++) bytes[i] = next() >>> 24
      return bytes
    },
  }
}

/** Four words from a text, by FNV with four beginnings. */
function stateOf(text: string): Uint32Array {
  const state = new Uint32Array(4)
  for (let word = 0; word < 4; word++) {
    let hash = (0x811c9dc5 + word * 0x9e3779b1) >>> 0
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0
    state[word] = hash || 1
  }
  return state
}
