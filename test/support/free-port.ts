import { randomInt } from 'node:crypto'
import { createServer, type Server } from 'node:net'

// The public address of a shop must be known before it listens, and a process that is given a port may take seconds to get there. So that
// no other test takes the port meanwhile, each test process gives ports of blocks of its own.

const PORT_MIN = 10_000
/** Above this, the system gives ports to connections that leave. */
const PORT_MAX = 32_000
const BLOCK = 100
/** No browser and no `fetch` goes there. */
const BAD_PORT = 10_080

let left: number[] = []

/** A port that nobody listens on now, and that no other test is given while this process lives. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = left.pop()
    if (port === undefined) left = await ownBlock()
    else if (await isFree(port)) return port
  }
}

/** Whoever listens on the first port of a block owns the rest. That ends with the process, however it ends. */
async function ownBlock(): Promise<number[]> {
  for (;;) {
    const first = PORT_MIN + BLOCK * randomInt((PORT_MAX - PORT_MIN) / BLOCK)
    const owner = await listen(first)
    if (!owner) continue
    owner.unref()
    return Array.from({ length: BLOCK - 1 }, (_, i) => first + 1 + i).filter((port) => port !== BAD_PORT)
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = await listen(port)
  if (!server) return false
  return new Promise((resolve) => server.close(() => resolve(true)))
}

function listen(port: number): Promise<Server | null> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(null))
    server.listen(port, '127.0.0.1', () => resolve(server))
  })
}
