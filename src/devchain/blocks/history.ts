import type { Clock } from '../../base/clock.ts'
import { fromHex } from '../../base/hex.ts'
import { RpcError } from '../errors.ts'
import { makeCode } from '../evm/code.ts'
import type { State } from '../evm/state.ts'
import type { Rules } from '../rules.ts'
import { type Block, sealBlock } from './block.ts'
import { type BlockJournal, noJournal, openJournal } from './journal.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { createCodec } from './record.ts'

/** The blocks, the state they led to, and the journal of both, kept in step. The past can be visited and taken back. */
export type History = {
  readonly ledger: Ledger
  /** The chain's time in seconds: the clock, and whatever `evm_increaseTime` added to it. */
  now(): number
  timeOffset(): number
  setTimeOffset(seconds: number): void
  /** Adds a block whose changes the state already has. */
  append(block: Block): void
  /** Takes back all blocks above `height` and returns them, oldest first. */
  rewind(height: number): readonly Block[]
  /** Runs `work` on the state as it was after the block at `height`. */
  atHeight<T>(height: number, work: () => Promise<T>): Promise<T>
  /** Resolves when all that happened so far is on disk. */
  settled(): Promise<void>
  close(): Promise<void>
}

/** Rebuilds the chain from the journal at `path`, or starts one. A null path keeps it in memory. */
export async function openHistory(options: {
  readonly rules: Rules
  readonly state: State
  readonly clock: Clock
  readonly path: string | null
  /** Blocks of another chain with which a new one starts. */
  readonly past?: readonly Block[] | undefined
}): Promise<History> {
  const { rules, state, clock, path, past } = options
  const codec = createCodec()
  const replayed: { ledger: Ledger | null; timeOffset: number } = { ledger: null, timeOffset: 0 }

  function replay(record: unknown): void {
    const event = codec.decode(record)
    replayed.timeOffset = event.timeOffset
    if (event.kind === 'rewind') {
      takeBack(replayed.ledger!, state, event.height)
      return
    }
    const block = { ...event.block, changes: state.apply(event.writes) }
    if (replayed.ledger === null) replayed.ledger = createLedger(block)
    else replayed.ledger.push(block)
  }

  const journal: BlockJournal =
    path === null ? noJournal : await openJournal(path, `sutler-devchain 1 ${rules.chainId}`, replay)
  let { timeOffset } = replayed
  const ledger = replayed.ledger ?? (await start())

  async function start(): Promise<Ledger> {
    const [genesis, ...later] = past
      ? relive(past, state, seconds(clock))
      : [plantGenesis(rules, state, seconds(clock))]
    const started = createLedger(genesis!)
    for (const block of later) started.push(block)
    for (const block of [genesis!, ...later]) write(block)
    await journal.settled()
    return started
  }

  function write({ changes, ...block }: Block): void {
    journal.append(codec.encode({ kind: 'block', block, writes: changes!, timeOffset }))
  }

  return {
    ledger,
    now: () => seconds(clock) + timeOffset,
    timeOffset: () => timeOffset,
    setTimeOffset(seconds) {
      timeOffset = seconds
    },
    append(block) {
      ledger.push(block)
      write(block)
    },
    rewind(height) {
      const removed = takeBack(ledger, state, height)
      journal.append(codec.encode({ kind: 'rewind', height, timeOffset }))
      return removed
    },
    async atHeight(height, work) {
      const above = blocksAbove(ledger, height)
      for (const { changes } of above.toReversed()) state.unapply(changes!)
      try {
        return await work()
      } finally {
        for (const { changes } of above) state.apply(changes!)
      }
    },
    settled: journal.settled,
    close: journal.close,
  }
}

function takeBack(ledger: Ledger, state: State, height: number): readonly Block[] {
  const removed = blocksAbove(ledger, height)
  for (const { changes } of removed.toReversed()) {
    ledger.pop()
    state.unapply(changes!)
  }
  return removed
}

/** Oldest first. Throws when one of them is too old to be taken back. */
function blocksAbove(ledger: Ledger, height: number): readonly Block[] {
  const blocks: Block[] = []
  for (let number = height + 1; number <= ledger.head().number; number++) {
    const block = ledger.block(number)!
    if (block.changes === null) throw new RpcError(-32000, `historical state of block ${height} is not available`)
    blocks.push(block)
  }
  return blocks
}

/** The genesis block is journaled as any other: a data folder keeps the contracts it was started with. */
function plantGenesis(rules: Rules, state: State, timestamp: number): Block {
  for (const { address, runtime } of rules.genesis)
    state.setAccount(address, { nonce: 1n, code: makeCode(fromHex(runtime)) })
  const parentHash = `0x${'0'.repeat(64)}` as const
  const changes = state.takeChanges()
  return sealBlock({ number: 0, parentHash, timestamp, fork: 0, transactions: [], overrides: [], changes })
}

/** What happened elsewhere happens here now: the same content and the same changes, at the time of this chain. */
function relive(past: readonly Block[], state: State, timestamp: number): readonly Block[] {
  const blocks: Block[] = []
  for (const block of past) {
    const changes = state.apply(block.changes!)
    blocks.push(sealBlock({ ...block, parentHash: blocks.at(-1)?.hash ?? block.parentHash, timestamp, changes }))
  }
  return blocks
}

function seconds(clock: Clock): number {
  return Math.floor(clock.now() / 1000)
}
