import { createWakeSignal, type WakeSignal } from '../base/wake-signal.ts'
import { claim, type Job } from '../store/jobs.ts'
import { type Endpoint, listEndpoints, queueKind } from '../store/webhooks/endpoints.ts'
import { enabledEndpoint, LEASE_SECONDS, type QueueParts, workQueue } from './endpoint-queue.ts'
import { pumpEvents } from './pump.ts'

/** Tells the outside world what happened: places events in the log, and delivers them to the endpoints. */
export type WebhookWorker = {
  /** Something happened in this process; it need not wait for the next look. */
  wake(): void
  /** Endpoints changed, or something pending is due: look at all of them now. */
  lookAround(): void
  /** Puts down what is at hand; other processes, or the next start, go on with it. */
  stop(): Promise<void>
}

type WebhookWorkerOptions = QueueParts & {
  /** Called when new events are in the log. */
  onPlaced(): void
}

const POLL_MS = 500
/** Under load, what happens within this time is placed together. */
const COLLECT_MS = 100
const ENDPOINTS_POLL_MS = 2_000
/** Per endpoint and process. A receiver that takes its time keeps these busy, and nobody else's. */
const CONCURRENT_MAX = 8

export function startWebhookWorker(options: WebhookWorkerOptions): WebhookWorker {
  const { db, clock, log } = options
  const stopping = new AbortController()
  const fresh = createWakeSignal(clock)
  const roster = createWakeSignal(clock)
  const postmen = new Map<string, { readonly wakeSignal: WakeSignal; readonly done: Promise<void> }>()

  async function pump(): Promise<void> {
    while (!stopping.signal.aborted) {
      const placed = await pumpEvents(db).catch((error) => {
        log.warn('events could not be appended to the event log', { error })
        return 0
      })
      if (placed > 0) {
        options.onPlaced()
        for (const { wakeSignal } of postmen.values()) wakeSignal.ring()
      }
      await fresh.wait(POLL_MS, stopping.signal)
      await clock.sleep(COLLECT_MS, stopping.signal)
    }
  }

  /** One postman per endpoint that is enabled. Each goes home by himself when his endpoint is gone. */
  async function supervise(): Promise<void> {
    while (!stopping.signal.aborted) {
      const endpoints = await listEndpoints(db).catch((error): readonly Endpoint[] => {
        log.warn('webhook endpoints could not be read', { error })
        return []
      })
      for (const { id, state } of endpoints) {
        if (state !== 'enabled' || postmen.has(id)) continue
        const wakeSignal = createWakeSignal(clock)
        postmen.set(id, {
          wakeSignal,
          done: serve(options, id, wakeSignal, stopping.signal).finally(() => postmen.delete(id)),
        })
      }
      await roster.wait(ENDPOINTS_POLL_MS, stopping.signal)
    }
  }

  const loops = [pump(), supervise()]
  return {
    wake: () => fresh.ring(),
    lookAround() {
      roster.ring()
      for (const { wakeSignal } of postmen.values()) wakeSignal.ring()
    },
    async stop() {
      stopping.abort()
      await Promise.all(loops)
      await Promise.all([...postmen.values()].map(({ done }) => done))
    },
  }
}

async function serve(parts: QueueParts, endpointId: string, wakeSignal: WakeSignal, stop: AbortSignal): Promise<void> {
  const { db, log } = parts
  const atWork = new Set<Promise<void>>()

  async function takeMore(): Promise<'gone' | number> {
    const endpoint = await enabledEndpoint(db, endpointId)
    if (!endpoint) return 'gone'
    const free = CONCURRENT_MAX - atWork.size
    const jobs = await claim(db, { kinds: [queueKind(endpointId)], limit: free, leaseSeconds: LEASE_SECONDS })
    for (const job of jobs) begin(endpoint, job)
    return jobs.length
  }

  function begin(endpoint: Endpoint, job: Job): void {
    const task = workQueue(parts, endpoint, job, stop)
      .catch((error) => log.error('webhook queue could not be processed', { endpointId, subject: job.key, error }))
      .finally(() => {
        atWork.delete(task)
        // What was put back may be due at once.
        wakeSignal.ring()
      })
    atWork.add(task)
  }

  while (!stop.aborted) {
    const taken = await takeMore().catch((error) => {
      log.warn('webhook queues could not be claimed', { endpointId, error })
      return 0
    })
    if (taken === 'gone') break
    if (atWork.size >= CONCURRENT_MAX) await Promise.race(atWork)
    else if (taken === 0) await wakeSignal.wait(POLL_MS, stop)
  }
  await Promise.all(atWork)
}
