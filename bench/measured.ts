import { type ChildProcess, fork } from 'node:child_process'
import { Agent, type OutgoingHttpHeaders, request } from 'node:http'

/** A server in a process of its own, whose CPU time can be read. */
export type Measured = {
  readonly url: string
  cpuMicros(): Promise<number>
  /** The most memory it ever had, and what it has now. */
  peakBytes(): Promise<number>
  residentBytes(): Promise<number>
  stop(): void
  /** When it has stopped: only then are its port and its folder free. */
  readonly ended: Promise<void>
}

/** Starts a module that calls `serveMeasured`. `order` reaches it as one JSON argument. */
export async function startMeasured(module: string, order: unknown = null): Promise<Measured> {
  const child = fork(module, [JSON.stringify(order)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  const url = await heard<string>(child, 'url')
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const ask = (word: string) => {
    child.send(word)
    return heard<number>(child, word)
  }
  return {
    url,
    ended,
    cpuMicros: () => ask('cpu'),
    peakBytes: () => ask('peak'),
    residentBytes: () => ask('resident'),
    stop: () => void child.kill('SIGKILL'),
  }
}

function heard<Value>(child: ChildProcess, word: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    const gone = () => reject(new Error('a server of the bench ended by itself'))
    child.once('exit', gone)
    child.on('message', function listen(message: Record<string, Value>) {
      if (!(word in message)) return
      child.off('message', listen)
      child.off('exit', gone)
      resolve(message[word]!)
    })
  })
}

/** The other side: starts the server, tells its address, and answers for its CPU time. */
export async function serveMeasured<Order>(start: (order: Order) => Promise<string>): Promise<void> {
  process.on('message', (word: string) => {
    const { user, system } = process.cpuUsage()
    const peak = process.resourceUsage().maxRSS * 1024
    const figures: Record<string, number> = { cpu: user + system, peak, resident: process.memoryUsage.rss() }
    process.send!({ [word]: figures[word] })
  })
  process.on('disconnect', () => process.exit())
  process.send!({ url: await start(JSON.parse(process.argv[2] ?? 'null') as Order) })
}

export type Shot = {
  readonly path: string
  readonly method?: string
  readonly headers?: OutgoingHttpHeaders
  readonly body?: string
  readonly expects: number
}

/** Sends the shots over a few kept connections, and returns what each cost the server in CPU time. */
export async function cpuMicrosPerShot(server: Measured, shots: readonly Shot[], connections = 8): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const before = await server.cpuMicros()
  let next = 0
  const gun = async () => {
    for (let shot = shots[next++]; shot; shot = shots[next++]) await fire(agent, server.url, shot)
  }
  await Promise.all(Array.from({ length: connections }, gun))
  const after = await server.cpuMicros()
  agent.destroy()
  return (after - before) / shots.length
}

function fire(agent: Agent, url: string, { path, method = 'GET', headers = {}, body, expects }: Shot): Promise<void> {
  const sized =
    body === undefined
      ? headers
      : { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  return new Promise((resolve, reject) => {
    const outgoing = request(url + path, { agent, method, headers: sized }, (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.once('end', () => {
        if (incoming.statusCode === expects) resolve()
        else
          reject(
            new Error(
              `${method} ${path} answered ${incoming.statusCode}: ${Buffer.concat(chunks).toString().slice(0, 300)}`,
            ),
          )
      })
    })
    outgoing.once('error', reject).end(body)
  })
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
