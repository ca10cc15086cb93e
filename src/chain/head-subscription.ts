import { type Clock, countdown } from '../base/clock.ts'
import type { OpenLine, SocketFrame } from '../base/web-socket.ts'

type SubscriptionOptions = {
  readonly chainId: number
  readonly clock: Clock
  readonly open: OpenLine
  readonly stop: AbortSignal
}

/** What a node lets us hear: that it will tell of blocks, one of them, or that it is still there. */
type HeadSign = 'subscribed' | 'head' | 'alive'

/** Why it is over. In our own words: what the other side says may be anything. */
export type Ending = { readonly kind: 'lost' | 'other_chain'; readonly reason: string }

/** Whoever has not subscribed us by then, or lets us hear nothing for so long, is not there. */
export const SILENT_MS = 10_000
const PING_MS = 3_000
/** The fastest chains make ten blocks a second. */
const FRAMES_PER_SECOND_MAX = 100
/** The name that a node gives to a subscription. */
const NAME_LENGTH_MAX = 200

const CHAIN = { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] }
const HEADS = { jsonrpc: '2.0', id: 2, method: 'eth_subscribe', params: ['newHeads'] }

/** One connection, from the call to its end. It proves its chain first; then it is asked to tell of each new block. */
export async function subscribe(
  { chainId, clock, open, stop }: SubscriptionOptions,
  onSign: (sign: HeadSign) => void,
): Promise<Ending> {
  const { promise: ended, resolve: end } = Promise.withResolvers<Ending>()
  const over = new AbortController()
  const lose = (reason: string): void => end({ kind: 'lost', reason })
  const isFlooded = frameLimit(clock)
  let name: string | null = null
  let left = countdown(clock, SILENT_MS)

  function hear(sign: HeadSign): void {
    left = countdown(clock, SILENT_MS)
    onSign(sign)
  }

  function read(text: string): void {
    const said = messageIn(text)
    if (said === null) lose('what it sends is no JSON-RPC')
    else if (name !== null) {
      if (said.method === 'eth_subscription' && said.params?.subscription === name) hear('head')
    } else if (said.id === CHAIN.id) {
      if (typeof said.result !== 'string') lose('it does not say which chain it is of')
      else if (Number(said.result) === chainId) line.send(JSON.stringify(HEADS))
      else end({ kind: 'other_chain', reason: `it is of chain ${Number(said.result)}, not ${chainId}` })
    } else if (said.id === HEADS.id) {
      if (!isName(said.result)) lose('it refuses eth_subscribe')
      else {
        name = said.result
        hear('subscribed')
      }
    }
  }

  function onFrame(frame: SocketFrame): void {
    if (isFlooded()) lose(`it sends more than ${FRAMES_PER_SECOND_MAX} messages a second`)
    else if (frame.kind === 'text') read(frame.text)
    else if (frame.kind === 'pong' && name !== null) hear('alive')
  }

  const line = open({ onOpen: () => line.send(JSON.stringify(CHAIN)), onFrame, onEnd: lose })
  const leave = () => lose('the shop stops')
  if (stop.aborted) leave()
  stop.addEventListener('abort', leave)
  const watching = watch()
  const ending = await ended
  stop.removeEventListener('abort', leave)
  over.abort()
  line.cut()
  await watching
  return ending

  async function watch(): Promise<void> {
    for (;;) {
      await clock.sleep(PING_MS, over.signal)
      const quietMs = SILENT_MS - left()
      if (over.signal.aborted) return
      if (quietMs >= SILENT_MS) lose('nothing is heard of it')
      else if (quietMs >= PING_MS) line.ping()
    }
  }
}

type Said = {
  readonly id?: unknown
  readonly method?: unknown
  readonly result?: unknown
  readonly params?: { readonly subscription?: unknown } | null
}

/** Null: it is nothing that a node would say. */
function messageIn(text: string): Said | null {
  try {
    const said: unknown = JSON.parse(text)
    return typeof said === 'object' && said !== null && 'jsonrpc' in said ? (said as Said) : null
  } catch {
    return null
  }
}

function isName(result: unknown): result is string {
  return typeof result === 'string' && result !== '' && result.length <= NAME_LENGTH_MAX
}

function frameLimit(clock: Clock): () => boolean {
  let since = Number.NEGATIVE_INFINITY
  let frames = 0
  return () => {
    const now = clock.now()
    if (now - since >= 1_000 || now < since) {
      since = now
      frames = 0
    }
    return ++frames > FRAMES_PER_SECOND_MAX
  }
}
