import type { Clock } from '../../src/base/clock.ts'
import type { Chance } from './chance.ts'
import { immediatesWaiting, turn } from './immediates.ts'

/** A process, a payer, an operator: whatever can be stopped, killed, or have a clock that is off. */
export type Actor = {
  readonly name: string
  isAlive: boolean
  stoppedUntil: number
  clockOffMs: number
}

export const START_MS = Date.UTC(2026, 0, 1)

type Ready = { readonly actor: Actor; readonly label: string; readonly resume: () => void }
type Timer = Ready & { readonly at: number; readonly order: number }

export type Scheduler = {
  /** Milliseconds since 1970, as the world has it. Moves only when nobody can go on. */
  now(): number
  /** Who runs at this moment: what the process clock says is theirs. */
  current(): Actor | null
  actor(name: string): Actor
  /** A yield: the seed says when it returns. For a dead actor it never does. */
  point(actor: Actor, label: string): Promise<void>
  /** Real work that takes turns of the event loop; nobody goes on before it is done. */
  work<Result>(run: () => Promise<Result>): Promise<Result>
  clockOf(actor: Actor): Clock
  /** Nothing of it runs again. */
  kill(actor: Actor): void
  /** Into the history, and into the digest by which two runs are compared. */
  tell(line: string): void
  /** Into the history only. */
  note(line: string): void
  /** Until `isOver`, or nobody wants anything any more, or it is `untilMs`. */
  run(isOver: () => boolean, untilMs: number): Promise<'over' | 'idle' | 'late'>
  steps(): number
  digest(): string
  readonly history: readonly string[]
}

export type SchedulerOptions = {
  readonly chance: Chance
  /** Keep the history, for somebody who reads it. */
  readonly isTold: boolean
  /** Called before somebody goes on: here faults strike. */
  readonly onStep: (actor: Actor, label: string) => void
}

/** Whoever wants to go on asks here, and the seed says who does. One at a time: everything between two yields is one step. */
export function createScheduler({ chance, isTold, onStep }: SchedulerOptions): Scheduler {
  let now = START_MS
  let current: Actor | null = null
  let ready: Ready[] = []
  let timers: Timer[] = []
  let order = 0
  let busy = 0
  let steps = 0
  let digest = 0
  const history: string[] = []

  function tell(line: string): void {
    for (let i = 0; i < line.length; i++) digest = (Math.imul(digest, 31) + line.charCodeAt(i)) | 0
    digest = (Math.imul(digest, 31) + (now - START_MS)) | 0
    note(line)
  }

  function note(line: string): void {
    if (isTold) history.push(`${((now - START_MS) / 1000).toFixed(3).padStart(9)}  ${line}`)
  }

  function sleep(actor: Actor, ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      if (!actor.isAlive) return
      // Whole milliseconds: pauses that were multiplied have fractions, and a store keeps none.
      const timer = { at: Math.ceil(now + Math.max(0, ms)), order: ++order, actor, label: 'woke', resume: done }
      function done(): void {
        signal?.removeEventListener('abort', callOff)
        resolve()
      }
      function callOff(): void {
        timers = timers.filter((one) => one !== timer)
        done()
      }
      signal?.addEventListener('abort', callOff)
      timers.push(timer)
    })
  }

  /** All that can go on by itself has done so, and nobody waits for a turn of the event loop. */
  async function quiet(): Promise<void> {
    do await turn()
    while (busy > 0 || immediatesWaiting() > 0)
  }

  function step(chosen: Ready): void {
    ready = ready.filter((one) => one !== chosen)
    steps++
    if (chosen.label !== 'woke') tell(`${chosen.actor.name} ${chosen.label}`)
    onStep(chosen.actor, chosen.label)
    if (!chosen.actor.isAlive) return
    if (chosen.actor.stoppedUntil > now) {
      ready.push(chosen)
      return
    }
    current = chosen.actor
    chosen.resume()
  }

  /** False when there is nothing to wait for before `untilMs`. */
  function wait(untilMs: number): 'moved' | 'idle' | 'late' {
    let next = Number.POSITIVE_INFINITY
    for (const { at, actor } of timers) next = Math.min(next, Math.max(at, actor.stoppedUntil))
    for (const { actor } of ready) next = Math.min(next, actor.stoppedUntil)
    if (next === Number.POSITIVE_INFINITY) return 'idle'
    if (next > untilMs) return 'late'
    now = Math.max(now, next)
    const isDue = ({ at, actor }: Timer) => at <= now && actor.stoppedUntil <= now
    const due = timers.filter(isDue)
    timers = timers.filter((timer) => !isDue(timer))
    ready.push(...due.sort((a, b) => a.at - b.at || a.order - b.order))
    return 'moved'
  }

  return {
    now: () => now,
    current: () => current,
    actor: (name) => ({ name, isAlive: true, stoppedUntil: 0, clockOffMs: 0 }),
    point: (actor, label) =>
      new Promise((resume) => {
        if (actor.isAlive) ready.push({ actor, label, resume })
      }),
    async work(run) {
      busy++
      try {
        return await run()
      } finally {
        busy--
      }
    },
    clockOf: (actor) => ({
      now: () => now + actor.clockOffMs,
      sleep: (ms, signal) => sleep(actor, ms, signal),
    }),
    kill(actor) {
      actor.isAlive = false
      ready = ready.filter((one) => one.actor !== actor)
      timers = timers.filter((one) => one.actor !== actor)
    },
    tell,
    note,
    async run(isOver, untilMs) {
      for (;;) {
        await quiet()
        if (isOver()) return 'over'
        const able = ready.filter(({ actor }) => actor.stoppedUntil <= now)
        if (able.length > 0) step(able.length === 1 ? able[0]! : chance.pick(able))
        else {
          const waited = wait(untilMs)
          if (waited === 'late') now = Math.max(now, untilMs)
          if (waited !== 'moved') return waited
        }
      }
    },
    steps: () => steps,
    digest: () => (digest >>> 0).toString(16).padStart(8, '0'),
    history,
  }
}
