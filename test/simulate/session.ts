import type pg from 'pg'
import type { StoreWay } from './store.ts'
import { LATENCY_MS, labelOf, lostConnection, noteStatement, STATEMENT_MS_MAX } from './store-gate.ts'

type Answer = { readonly result: unknown } | { readonly error: unknown }
/** Somebody else has locked what it wants; or it has been answered. */
type Sent = { readonly waits: Promise<Answer> } | Answer

/** The server gives up a statement after so long, and a session that does nothing in a transaction. */
const STATEMENT_MS = 5_000
const IDLE_MS = 10_000
/** Of the machine's own time: whoever has not answered by then may be waiting for a lock, and the server is asked. */
const LOOK_MS = 8

const ENDS = /^\s*(commit|rollback)\s*$/i

const waiting = new WeakMap<pg.Pool, Set<{ readonly pid: number; readonly answer: Promise<Answer> }>>()

/**
 * A session of a replica: every statement is a step of its own, also within a transaction, and may be the last. One that waits for a lock lets
 * everybody else go on, and goes on itself when it has got it.
 */
export function tamed(client: pg.ClientBase, way: StoreWay, monitor: pg.Pool): void {
  const { sim, actor, wires, mishap, memory } = way
  const send = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>
  const { processID: pid } = client as unknown as { processID: number }
  const clock = sim.clockOf(actor)
  // Limits are the server's, whoever of us sleeps.
  const server = sim.clockOf(sim.actor('postgres'))
  const waiters = waiting.get(monitor) ?? new Set()
  waiting.set(monitor, waiters)
  let inTransaction = false
  let idle = new AbortController()
  const touched: string[] = []

  const cut = () => {
    ;(client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy()
    return lostConnection()
  }

  function endAfter(ms: number, calledOff: AbortSignal, how: 'cancel' | 'terminate'): void {
    void server.sleep(ms, calledOff).then(async () => {
      if (!calledOff.aborted) await sim.work(() => monitor.query(`select pg_${how}_backend($1)`, [pid]))
    })
  }

  function follow(text: string): void {
    noteStatement(memory, text)
    if (/^\s*begin/i.test(text)) inTransaction = true
    if (inTransaction) touched.push(text)
    if (ENDS.test(text)) {
      inTransaction = false
      for (const one of touched.splice(0)) noteStatement(memory, one)
    }
  }

  function timeNow(): string {
    const at = new Date(sim.now()).toISOString()
    return `${inTransaction ? '' : `set sim.begun = '${at}';`} set sim.clock = '${at}'`
  }

  async function answerOf(text: string, args: readonly unknown[]): Promise<Answer> {
    try {
      // What has failed takes no other word any more.
      if (!ENDS.test(text)) await send(timeNow())
      const result = await send(...args)
      follow(text)
      return { result }
    } catch (error) {
      return { error }
    }
  }

  async function carryOut(text: string, args: readonly unknown[]): Promise<Sent> {
    const answer = answerOf(text, args)
    for (;;) {
      const early = await Promise.race([answer, later()])
      if (early) return settleOthers(early)
      if (await isBlocked(monitor, pid)) break
    }
    const waiter = { pid, answer }
    waiters.add(waiter)
    void answer.then(() => waiters.delete(waiter))
    return { waits: answer }
  }

  /** Whoever waited for just this has it now, before anybody else goes on. */
  async function settleOthers(answer: Answer): Promise<Answer> {
    for (const waiter of [...waiters])
      while (waiters.has(waiter) && !(await isBlocked(monitor, waiter.pid)))
        await Promise.race([waiter.answer, later()])
    return answer
  }

  async function query(...args: readonly unknown[]): Promise<unknown> {
    const [config] = args as [string | { readonly text: string }]
    const text = typeof config === 'string' ? config : config.text
    idle.abort()
    const label = /^\s*begin/i.test(text) ? 'db transaction' : labelOf(text)
    await sim.point(actor, label)
    const { lost, delayMs } = mishap(actor, label)
    if (lost === 'before') throw cut()
    let sent = await sim.work(() => carryOut(text, args))
    if ('waits' in sent) {
      const tooLong = new AbortController()
      endAfter(STATEMENT_MS, tooLong.signal, 'cancel')
      sim.note(`${actor.name} waits for a lock: ${label}`)
      const { waits } = sent
      sent = await waits
      tooLong.abort()
      await sim.point(actor, 'db waited')
    }
    const tripMs = 1 + wires.below(LATENCY_MS) + delayMs
    await clock.sleep(Math.min(tripMs, STATEMENT_MS_MAX))
    if (lost === 'after' || tripMs >= STATEMENT_MS_MAX) throw cut()
    if (inTransaction) {
      idle = new AbortController()
      endAfter(IDLE_MS, idle.signal, 'terminate')
    }
    if ('error' in sent) throw sent.error
    return (sent as { readonly result: unknown }).result
  }
  client.query = query as unknown as typeof client.query
}

const later = () => new Promise<null>((resolve) => setTimeout(() => resolve(null), LOOK_MS))

async function isBlocked(monitor: pg.Pool, pid: number): Promise<boolean> {
  const { rows } = await monitor.query<{ blockers: number[] }>('select pg_blocking_pids($1) as blockers', [pid])
  return rows[0]!.blockers.length > 0
}
