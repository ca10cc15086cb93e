import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { StartOrder } from '../crash/protocol.ts'

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
  const ended = async (signal: NodeJS.Signals) => {
    const exit = once(child, 'exit')
    child.kill(signal)
    await exit
  }
  return {
    address: `127.0.0.1:${order.port}`,
    async start() {
      child = fork(join(import.meta.dirname, '../crash/server.ts'), { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
      const said = once(child, 'message')
      await said
      const listening = once(child, 'message')
      child.send({ start: order })
      await listening
    },
    stop: () => ended('SIGTERM'),
    kill: () => ended('SIGKILL'),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  }
}
