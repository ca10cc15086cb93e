/**
 * The bounds that callers and operators notice; most of them are promised in docs/contract.md, D9.1 to D9.8. A bound that only one module
 * works with stands at the top of that module, with its reason.
 */
export type Limits = {
  readonly bodyBytesMax: number
  readonly jsonDepthMax: number
  readonly headerBytesMax: number
  /** Slow senders are cut off: Node's defaults of one and five minutes let a few sockets hold everything. */
  readonly headersMsMax: number
  readonly requestMsMax: number
  readonly keepAliveMs: number
  /** An answer of which nothing is taken for so long is given up, and its socket with it. */
  readonly writeMsMax: number
  readonly connectionsMax: number
  /** At work at once, per client address, where clients connect to us and not to a proxy of ours. Four times as many may be open. */
  readonly connectionsPerClientMax: number
  /** Requests of one socket that have no answer yet; one more and the socket is cut. */
  readonly pipelineMax: number
  /** Requests, and purchases among them, that are worked on at once; one more is told to come back. */
  readonly requestsMax: number
  readonly purchasesMax: number
  /** How long a stop waits for what is under way; store and chains are closed after it, and all of it takes less than 25 seconds. */
  readonly drainMsMax: number
  readonly nicknameLengthMax: number
  readonly quantityMax: number
  readonly nftsMax: number
  readonly challengeTtlMs: number
  /** A paid request is answered within this time, finished or not. */
  readonly waitMsMax: number
  /** How long whoever pays waits until a node has said whether their payment landed. Not the time above: an honest node may need longer than that is set to. */
  readonly lookMsMax: number
  /** An order without a sign of life for this long is taken over by another process. */
  readonly leaseSeconds: number
  readonly rpcTimeoutMs: number
  readonly facilitatorTimeoutMs: number
  readonly gameTimeoutMs: number
  /** A studio's backend refuses requests older than a minute; its clock may be off by as much, so until then one may still be taken. */
  readonly gameRequestLifeMs: number
  /** How long a sender waits for a receipt before it calls the transaction pending. */
  readonly receiptWaitMs: number
  /** After this long without a receipt, a transaction is signed again with higher fees. */
  readonly stuckAfterMs: number
  /** Per client address and minute. */
  readonly rate: {
    readonly unpaid: number
    readonly quote: number
    readonly read: number
    /** Payments that were no good. */
    readonly failed: number
  }
  /** How far the shop goes with one payer, and on one day, before anybody has decided anything. */
  readonly openOrdersPerPayer: number
  readonly refundsPerPayer: number
  /** What code of strangers, and transactions that fail, may use up of our gas within an hour. */
  readonly gasPerHour: bigint
  /** In atomic units. */
  readonly refundsPerDay: bigint
  /** The percentage of the float that goes back within a day where buyers have brought it about. */
  readonly receiverRefundPercent: number
  /** So long the goods of a payment that does not land stay reserved. */
  readonly holdMsMax: number
  /** Requests that wait for their payer's transaction to show; more are told to come back. */
  readonly waitingMax: number
  /** How often one payment may be shown again per minute. */
  readonly replaysPerPayment: number
  /** How long delivery is tried before the money goes back, and the first pause between two tries; each next one is twice as long. */
  readonly delivery: {
    readonly mintMs: number
    readonly gameMs: number
    readonly craftMs: number
    readonly retryMs: number
  }
}

export const defaultLimits: Limits = {
  bodyBytesMax: 32 * 1024,
  jsonDepthMax: 16,
  headerBytesMax: 16 * 1024,
  headersMsMax: 10_000,
  requestMsMax: 15_000,
  keepAliveMs: 5_000,
  writeMsMax: 10_000,
  connectionsMax: 10_000,
  connectionsPerClientMax: 1_024,
  pipelineMax: 32,
  requestsMax: 1_000,
  purchasesMax: 600,
  drainMsMax: 20_000,
  nicknameLengthMax: 64,
  quantityMax: 100,
  nftsMax: 20,
  challengeTtlMs: 300_000,
  waitMsMax: 8_000,
  lookMsMax: 8_000,
  leaseSeconds: 15,
  rpcTimeoutMs: 8_000,
  facilitatorTimeoutMs: 20_000,
  gameTimeoutMs: 5_000,
  gameRequestLifeMs: 120_000,
  receiptWaitMs: 4_000,
  stuckAfterMs: 30_000,
  rate: { unpaid: 120, quote: 60, read: 600, failed: 30 },
  openOrdersPerPayer: 20,
  refundsPerPayer: 10,
  gasPerHour: 20_000_000n,
  refundsPerDay: 1_000_000_000n,
  receiverRefundPercent: 20,
  holdMsMax: 20_000,
  waitingMax: 64,
  replaysPerPayment: 10,
  delivery: { mintMs: 30 * 60_000, gameMs: 24 * 3_600_000, craftMs: 10 * 60_000, retryMs: 500 },
}
