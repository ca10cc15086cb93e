/** A payment lives for minutes, so neither it nor its cancellation is further back than this when somebody still asks for it. */
const SEARCH_BLOCKS = 2_000n

/** A node may be a few blocks behind another; begin the search for a payment a little earlier. */
const SEARCH_MARGIN_BLOCKS = 20n

const before = (block: bigint, blocks: bigint): bigint => (block > blocks ? block - blocks : 0n)

/** Where the search begins for a payment of which nobody has written down when it was first seen. */
export const unknownPaymentStart = (newest: bigint): bigint => before(newest, SEARCH_BLOCKS)

/** Where the search will begin for a payment that is seen now for the first time. */
export const newPaymentStart = (newest: bigint): bigint => before(newest, SEARCH_MARGIN_BLOCKS)
