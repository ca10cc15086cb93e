import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { StartOrder } from '../crash/protocol.ts'
import { heard } from '../crash/replicas.ts'

/** A shop process behind a proxy: always at the same port, however often it dies. */
export type Replica = {
  readonly address: string
  start(): Promise<void>
  /** What an operator sends it; resolves when it has ended, if it does. */
  stop(): Promise<void>
  kill(): Promise<void>
  freeze(): void
  thaw(): void
}

export function replicaAt(order: StartOrder): Replica {
  let child: ChildProcess
  let exit: Promise<unknown>
  const ended = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    await exit
  }
  return {
    address: `127.0.0.1:${order.port}`,
    async start() {
      child = fork(join(import.meta.dirname, '../crash/server.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      exit = once(child, 'exit')
      await heard(child, 'ready')
      const listening = heard(child, 'listening')
      child.send({ start: order })
      await listening
    },
    stop: () => ended('SIGTERM'),
    kill: () => ended('SIGKILL'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  }
}
