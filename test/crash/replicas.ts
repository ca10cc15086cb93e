import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { WaypointName } from '../../src/base/waypoint.ts'
import { freePort } from '../support/free-port.ts'
import type { FromServer, StartOrder, ToServer } from './protocol.ts'

/** A running shop process. */
export type Replica = {
  readonly url: string
  /** What its own clock showed when it began to listen. */
  readonly clockAtStart: number
  /** From now on it dies at the n-th waypoint. */
  crashAfter(waypoints: number): Promise<void>
  /** It lives on after all. */
  disarm(): Promise<void>
  /** Resolves with the waypoints passed while `work` ran. */
  record(work: () => Promise<void>): Promise<readonly WaypointName[]>
  readonly died: Promise<void>
  isDead(): boolean
  kill(): void
}

type Making = {
  /** A module to load first, and what it is told. */
  readonly preload?: string
  readonly env?: Readonly<Record<string, string>>
  /** So many are imported in advance: that takes longer than to start them. Those that nobody needs in the end cost as much as the others. */
  readonly sparesMax?: number
}

/** Hands out replicas. */
export function createReplicas(options: Omit<StartOrder, 'port'>, making: Making = {}) {
  const { preload, env, sparesMax = 0 } = making
  const spares: { readonly child: ChildProcess; readonly ready: Promise<unknown> }[] = []
  const children = new Set<ChildProcess>()

  function addSpare(): void {
    const child = fork(join(import.meta.dirname, 'server.ts'), {
      ...(preload ? { execArgv: ['--import', preload] } : {}),
      env: { ...process.env, ...env, NODE_COMPILE_CACHE: join(tmpdir(), 'sutler-test-compile-cache') },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    children.add(child)
    child.once('exit', () => children.delete(child))
    const ready = heard(child, 'ready')
    // A spare that is never used ends with the run.
    ready.catch(() => {})
    spares.push({ child, ready })
  }
  const fillUp = (count: number) => {
    while (spares.length < count) addSpare()
  }
  fillUp(sparesMax)

  return {
    async start(): Promise<Replica> {
      fillUp(1)
      const { child, ready } = spares.shift()!
      fillUp(sparesMax)
      await ready
      const port = await freePort()
      const listening = heard(child, 'listening')
      say(child, { start: { ...options, port } })
      const { now } = await listening
      return replicaOf(child, `http://127.0.0.1:${port}`, now)
    },
    stop(): void {
      for (const child of children) child.kill('SIGKILL')
    },
  }
}

function replicaOf(child: ChildProcess, url: string, clockAtStart: number): Replica {
  const died = once(child, 'exit').then(() => {})
  const arm = async (crashAfter: number | null) => {
    const armed = heard(child, 'armed')
    say(child, { crash: { crashAfter } })
    await armed
  }
  return {
    url,
    clockAtStart,
    died,
    isDead: () => child.exitCode !== null || child.signalCode !== null,
    kill: () => void child.kill('SIGKILL'),
    crashAfter: arm,
    // It may die before it hears of it, and is replaced then.
    disarm: () => arm(null).catch(() => died),
    async record(work) {
      const passed: WaypointName[] = []
      const listen = (message: FromServer) => {
        if ('passed' in message) passed.push(message.passed)
      }
      child.on('message', listen)
      say(child, { record: true })
      await work()
      child.off('message', listen)
      return passed
    },
  }
}

/** One that has just died does not hear it: that is told by its end, and is no error. */
function say(child: ChildProcess, message: ToServer): void {
  child.send(message, () => {})
}

type Word = 'ready' | 'listening' | 'armed'

/** What a process says. One that ends instead never will. */
export async function heard<Heard extends Word>(
  child: ChildProcess,
  word: Heard,
): Promise<Extract<FromServer, Record<Heard, true>>> {
  return new Promise((resolve, reject) => {
    const exited = (code: number | null, signal: NodeJS.Signals | null) =>
      reject(new Error(`a shop process ended (${signal ?? code}) before it was ${word}`))
    child.once('exit', exited)
    child.on('message', function listen(message: FromServer) {
      if (!(word in message)) return
      child.off('message', listen)
      child.off('exit', exited)
      resolve(message as Extract<FromServer, Record<Heard, true>>)
    })
  })
}
