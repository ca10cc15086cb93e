import { createConnection, createServer, type Socket } from 'node:net'
import { freePort } from '../support/free-port.ts'

/** A wire to the database that can be cut, or go silent, and joined again. */
export type Cable = {
  readonly url: string
  cut(): void
  /** Nothing comes back any more, and nothing says so. */
  silence(): void
  join(): void
  close(): void
}

export async function layCable(databaseUrl: string): Promise<Cable> {
  const { searchParams, pathname, username } = new URL(databaseUrl)
  const folder = searchParams.get('host')
  if (!folder) throw new TypeError('the test server listens on a Unix socket')
  const port = await freePort()
  const sockets = new Set<Socket>()
  let state: 'whole' | 'cut' | 'silent' = 'whole'
  const server = createServer((near) => {
    if (state === 'cut') return near.destroy()
    const far = createConnection(`${folder}/.s.PGSQL.5432`)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy()).on('close', () => sockets.delete(from) && to.destroy())
    }
    if (state === 'silent') far.unpipe()
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const destroyAll = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    cut() {
      state = 'cut'
      destroyAll()
    },
    silence() {
      state = 'silent'
      for (const socket of sockets) socket.unpipe()
    },
    join() {
      // Who was not answered for a while never is; new connections pass.
      if (state === 'silent') destroyAll()
      state = 'whole'
    },
    close() {
      server.close()
      destroyAll()
    },
  }
}
