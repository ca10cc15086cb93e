import { createConnection, createServer, type Socket } from 'node:net'
import { freePort } from '../support/free-port.ts'

/** A wire to something that listens on this machine. It can be cut, which both ends notice, or go dead, which nobody does. */
export type Wire = {
  readonly port: number
  cut(): void
  /** Nothing passes any more, and nothing says so: packets are dropped. */
  drop(): void
  mend(): void
  close(): void
}

export async function layWire(target: () => number): Promise<Wire> {
  const port = await freePort()
  const pairs = new Set<readonly [Socket, Socket]>()
  let state: 'whole' | 'cut' | 'dead' = 'whole'
  const server = createServer((near) => {
    if (state === 'cut') return void near.destroy()
    if (state === 'dead') return void near.on('error', () => {})
    const far = createConnection(target(), '127.0.0.1')
    const pair = [near, far] as const
    pairs.add(pair)
    near.pipe(far)
    far.pipe(near)
    for (const end of pair)
      end
        .on('error', () => {})
        .on('close', () => {
          pairs.delete(pair)
          near.destroy()
          far.destroy()
        })
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const destroyAll = () => {
    for (const [near, far] of pairs) {
      near.destroy()
      far.destroy()
    }
  }
  return {
    port,
    cut() {
      state = 'cut'
      destroyAll()
    },
    drop() {
      state = 'dead'
      for (const [near, far] of pairs) {
        near.unpipe(far)
        far.unpipe(near)
      }
    },
    mend() {
      // What was silent for a while is never heard of again; new connections pass.
      if (state === 'dead') destroyAll()
      state = 'whole'
    },
    close() {
      server.close()
      destroyAll()
    },
  }
}
