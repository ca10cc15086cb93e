import type { Chance } from './chance.ts'
import type { Actor, Scheduler } from './scheduler.ts'

/** What befalls one call. */
export type Mishap = { readonly lost: 'before' | 'after' | null; readonly delayMs: number }

export type Call<Result> = {
  readonly label: string
  /** The way there and back takes up to so long. */
  readonly latencyMs: number
  /** The caller gives up after this. */
  readonly patienceMs: number
  run(): Promise<Result>
  /** The error that the caller sees when nothing comes back. */
  failure(neverSent: boolean): unknown
}

/** The only way out of a replica. */
export type Gate = <Result>(call: Call<Result>) => Promise<Result>

/**
 * A call may end before it leaves, and its caller with it: nothing has happened. Then it takes effect, whole. Then there is an answer, late
 * or lost on the way, and its caller may be dead by now: it has happened, and nobody has heard.
 */
export function gateOf(
  sim: Scheduler,
  actor: Actor,
  wires: Chance,
  mishap: (actor: Actor, label: string) => Mishap,
): Gate {
  const clock = sim.clockOf(actor)
  return async ({ label, latencyMs, patienceMs, run, failure }) => {
    await sim.point(actor, label)
    const { lost, delayMs } = mishap(actor, label)
    if (lost === 'before') throw failure(true)
    const answer = await sim.work(run)
    const tripMs = 1 + wires.below(latencyMs) + delayMs
    await clock.sleep(Math.min(tripMs, patienceMs))
    if (lost === 'after' || tripMs >= patienceMs) throw failure(false)
    return answer
  }
}
