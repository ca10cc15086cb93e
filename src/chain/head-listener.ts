import { createAlarm } from '../base/alarm.ts'
import { type Clock, msSince } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { OpenLine } from '../base/web-socket.ts'
import type { NewHeads } from '../domain/new-heads.ts'
import { type Ending, SILENT_MS, subscribe } from './head-subscription.ts'

/** Hears of new blocks from a node that tells of them, where there is one. */
export type HeadListener = NewHeads & {
  /** From now on, until `stop`. A node that goes away is called again, ever less often. */
  listen(open: OpenLine, stop: AbortSignal): void
}

type ListenerOptions = { readonly chainId: number; readonly clock: Clock; readonly log: Log }

/**
 * However often blocks are told of, those who wait are woken at most so often: as often as they would ask by the clock (`receipt.ts`). A
 * node that lies or floods cannot make us ask more than one that is silent.
 */
const RING_MS = 150
const AGAIN_MS_FIRST = 1_000
const AGAIN_MS_MAX = 60_000

export function createHeadListener({ chainId, clock, log }: ListenerOptions): HeadListener {
  const bell = createBell(clock)
  const tell = createTeller(log.with({ chainId }), clock)
  let isUsed = false
  let isSubscribed = false
  let heardAt = 0

  /** Until the node is lost. */
  async function hear(open: OpenLine, stop: AbortSignal): Promise<Ending> {
    const ending = await subscribe({ chainId, clock, open, stop }, (sign) => {
      heardAt = clock.now()
      if (sign === 'subscribed') {
        isSubscribed = true
        tell.heard()
      }
      if (sign === 'head') bell.ring()
    })
    // Whoever waits for the next block asks by the clock from now on.
    isSubscribed = false
    bell.wake()
    return ending
  }

  async function keepHearing(open: OpenLine, stop: AbortSignal): Promise<void> {
    for (let again = AGAIN_MS_FIRST; !stop.aborted; again = Math.min(2 * again, AGAIN_MS_MAX)) {
      const begun = clock.now()
      const ending = await hear(open, stop)
      if (stop.aborted) return
      tell.lost(ending)
      // Whoever was there for a while is called again soon.
      if (clock.now() - begun >= AGAIN_MS_MAX) again = AGAIN_MS_FIRST
      await clock.sleep(again, stop)
    }
  }

  return {
    isUsed: () => isUsed,
    isHearing: () => isSubscribed && msSince(clock, heardAt) < SILENT_MS,
    told: bell.rung,
    next: bell.next,
    listen(open, stop) {
      isUsed = true
      keepHearing(open, stop).catch((error: unknown) => log.error('block subscription failed', { chainId, error }))
    },
  }
}

type Teller = { heard(): void; lost(ending: Ending): void }

/** Nothing is lost with a listener but questions to nodes: that it is gone is said once, and only a wrong address is worth an alarm. */
function createTeller(log: Log, clock: Clock): Teller {
  const alarm = createAlarm(log, clock)
  let isLost = false
  return {
    heard() {
      isLost = false
      log.info('block subscription established')
    },
    lost({ kind, reason }) {
      if (kind === 'other_chain')
        return alarm(kind, 'a listening address leads to another chain and is not used; correct its _LISTEN_URL', {
          reason,
        })
      if (!isLost) log.warn('block subscription lost; polling for receipts', { reason })
      isLost = true
    },
  }
}

type Bell = {
  ring(): void
  /** Wakes whoever waits, though there is nothing to tell. */
  wake(): void
  rung(): number
  next: NewHeads['next']
}

/** A reason of its own: without one an error is made, with its stack, and thrown away. */
const RUNG = 'rung'

function createBell(clock: Clock): Bell {
  const waiting = new Set<AbortController>()
  let rung = 0
  let rungAt = Number.NEGATIVE_INFINITY
  let isDue = false

  function wake(): void {
    for (const one of waiting) one.abort(RUNG)
    waiting.clear()
  }

  function ringNow(): void {
    isDue = false
    rungAt = clock.now()
    rung++
    wake()
  }

  return {
    wake,
    rung: () => rung,
    ring() {
      // One that comes too early is not lost, and a hundred of them are one.
      if (isDue) return
      const early = rungAt + RING_MS - clock.now()
      if (early <= 0) return ringNow()
      isDue = true
      void clock.sleep(Math.min(early, RING_MS)).then(ringNow)
    },
    async next(told, ms) {
      if (rung > told) return
      const one = new AbortController()
      waiting.add(one)
      await clock.sleep(ms, one.signal)
      waiting.delete(one)
    },
  }
}
