/** Counts what a chain is asked and what it costs us, for whoever looks at the figures. Never in the way: it neither waits nor fails. */
export type ChainMeter = {
  /**
   * One question to one node, by its place in the configuration: an address may hold a key. `refused` is a node's own word, a revert for
   * example, and no fault of it; `silent` is no usable answer.
   */
  asked(question: {
    readonly chainId: number
    readonly node: number
    readonly outcome: 'answered' | 'refused' | 'silent'
    readonly ms: number
  }): void
  /** A payment of which two nodes had to show the same, and did not. */
  disagreed(chainId: number): void
  /** A transaction of ours was found in a block. */
  mined(
    chainId: number,
    step: string,
    receipt: { readonly succeeded: boolean; readonly gasUsed: bigint; readonly gasPrice: bigint },
  ): void
}

export const noChainMeter: ChainMeter = { asked() {}, disagreed() {}, mined() {} }
