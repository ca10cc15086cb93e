/** Somebody who tells when a chain has a new block. That is a reason to ask, and never an answer: nothing it says is believed. */
export type NewHeads = {
  /** Has it anybody to listen to? */
  isUsed(): boolean
  /** Does it hear of blocks at this moment? Whoever waits asks by the clock while it does not. */
  isHearing(): boolean
  /** How often it has told of blocks. Whoever remembers this before they ask loses none that comes while they ask. */
  told(): number
  /** Resolves when it has told more often than `told`, when it hears no more, or after `ms`. */
  next(told: number, ms: number): Promise<void>
}

/** Nobody tells of blocks: all is asked by the clock. */
export const noHeads: NewHeads = {
  isUsed: () => false,
  isHearing: () => false,
  told: () => 0,
  next: async () => {},
}
