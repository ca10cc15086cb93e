import { monitorEventLoopDelay } from 'node:perf_hooks'

type EventLoopDelay = { readonly p99Seconds: number; readonly maxSeconds: number }

const WINDOW_MS = 10_000
const RESOLUTION_MS = 10

/** Each has a watch of its own: what one has read is gone for the other. */
type Reader = 'figures' | 'replica'

const watches = new Map<Reader, ReturnType<typeof begin>>()

function begin() {
  const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  histogram.enable()
  return { histogram, since: performance.now(), last: { p99Seconds: 0, maxSeconds: 0 } as EventLoopDelay }
}

/**
 * How late this process was with what was due, over the last ten seconds or more. Whoever asks sooner reads the same again, so that two
 * readers do not take each other's figures away. It belongs to the process, however many shops a test runs in it.
 */
export function eventLoopDelay(reader: Reader): EventLoopDelay {
  const now = performance.now()
  const watch = watches.get(reader) ?? begin()
  watches.set(reader, watch)
  const { histogram, since } = watch
  if (now - since < WINDOW_MS && watch.last.maxSeconds > 0) return watch.last
  const last = { p99Seconds: lateBy(histogram.percentile(99)), maxSeconds: lateBy(histogram.max) }
  histogram.reset()
  watches.set(reader, { histogram, since: now, last })
  return last
}

/** What is measured is the time between two ticks of a timer. */
function lateBy(nanoseconds: number): number {
  return Number.isFinite(nanoseconds) ? Math.max(0, nanoseconds / 1e9 - RESOLUTION_MS / 1e3) : 0
}
