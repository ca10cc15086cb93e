import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'

/** Stands between a client and PostgreSQL, and can go silent as a network does: nothing arrives any more, and nothing is closed. */
export type QuietWire = {
  readonly url: string
  /** What is connected now never hears anything again. */
  hush(): void
  /** And nobody who connects from now on does, until `speak`. */
  hushNew(): void
  speak(): void
  /** How many connections were opened through it. */
  readonly opened: number
  close(): void
}

export async function startQuietWire(url: string): Promise<QuietWire> {
  const { host, port } = new pg.Client({ connectionString: url })
  const ends = new Set<Socket>()
  let isDeaf = false
  let opened = 0
  const server = createServer((near) => {
    opened++
    ends.add(near.on('error', () => {}))
    near.on('close', () => ends.delete(near))
    if (isDeaf) return void near.pause()
    const far = host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host)
    ends.add(far.on('error', () => {}))
    far.on('close', () => ends.delete(far))
    near.pipe(far).pipe(near)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: own } = server.address() as AddressInfo
  return {
    url: url.replace(/^(\w+:\/\/)(?:([^@/]*)@)?[^/]*(\/[^?]*).*$/, `$1$2@127.0.0.1:${own}$3`),
    get opened() {
      return opened
    },
    hush() {
      for (const end of ends) end.unpipe().pause()
    },
    hushNew() {
      isDeaf = true
    },
    speak() {
      isDeaf = false
    },
    close() {
      server.close()
      for (const end of ends) end.destroy()
    },
  }
}
