import { createConnection, createServer, type Socket } from 'node:net'
import { freePort } from '../support/free-port.ts'

/** A wire to the database that can be cut, and joined again. */
export type Cable = { readonly url: string; cut(): void; join(): void; close(): void }

export async function layCable(databaseUrl: string): Promise<Cable> {
  const { searchParams, pathname, username } = new URL(databaseUrl)
  const folder = searchParams.get('host')
  if (!folder) throw new TypeError('the test server listens on a Unix socket')
  const port = await freePort()
  const sockets = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return near.destroy()
    const far = createConnection(`${folder}/.s.PGSQL.5432`)
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy()).on('close', () => sockets.delete(from) && to.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  return {
    url: `postgres://${username}@127.0.0.1:${port}${pathname}`,
    cut() {
      isCut = true
      for (const socket of sockets) socket.destroy()
    },
    join() {
      isCut = false
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
