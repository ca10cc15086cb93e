import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** The shop's answer, whole, as the proxy got it. */
export type Answer = { readonly status: number; readonly rawHeaders: readonly string[]; readonly body: Buffer }

/** What becomes of one paid call: who waits for an answer, and what the shop says in the end. `challenge` is the last 402 that passed. */
export type Fault = (client: ServerResponse, answered: Promise<Answer>, challenge: Answer) => Promise<void>

/** Stands between a client and the shop. It hurts one paid call and lets everything else pass. */
export type FaultProxy = {
  readonly url: string
  /** Where calls go from now on. */
  send(to: string): void
  /** What happens to the next paid call, and only to that one. */
  strike(fault: Fault): void
  /** The shop hears every unpaid call twice, and the caller the second answer, until the next paid call. */
  stutter(): void
  close(): Promise<void>
}

export async function startFaultProxy(): Promise<FaultProxy> {
  let target = ''
  let armed: Fault | null = null
  let stutters = false
  let challenge: Answer | null = null

  async function pass(call: IncomingMessage, client: ServerResponse): Promise<void> {
    const body = await readAll(call)
    if (!isPaid(call)) {
      if (stutters) await forward(target, call, body)
      const answer = await forward(target, call, body)
      if (answer.status === 402) challenge = answer
      return deliver(client, answer)
    }
    const fault = armed ?? deliverInTime
    armed = null
    stutters = false
    const answered = forward(target, call, body)
    // Not every fault waits for the answer, and the shop may be gone.
    answered.catch(() => {})
    return fault(client, answered, challenge!)
  }

  const server = createServer((call, client) => {
    pass(call, client).catch(() => client.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    send(to) {
      target = to
    },
    strike(fault) {
      armed = fault
    },
    stutter() {
      stutters = true
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const deliverInTime: Fault = async (client, answered) => deliver(client, await answered)

export const loseAnswer: Fault = async (client, answered) => {
  await answered
  client.destroy()
}

/** A fraction of the answer, from nothing to all but the last byte. */
export function cutAt(fraction: number): Fault {
  return async (client, answered) => {
    const bytes = bytesOf(await answered)
    await write(client, bytes.subarray(0, Math.floor((bytes.length - 1) * fraction)))
    client.destroy()
  }
}

/** Byte by byte, each on its way before the next one is written. */
export const trickle: Fault = async (client, answered) => {
  for (const byte of bytesOf(await answered)) await write(client, Buffer.of(byte))
  client.socket!.end()
}

/** A gateway in front of the shop loses its patience, or the shop's answer. */
export function gatewaySays(status: 500 | 502 | 503 | 504): Fault {
  return async (client, answered) => {
    await answered
    client.writeHead(status, { 'content-type': 'text/html' }).end('<h1>Something went wrong</h1>')
  }
}

/** Nothing, for as long as the client is there. */
export const silence: Fault = (client) => new Promise((resolve) => client.once('close', resolve))

/** A cache that ignores `no-store` serves the challenge again to whoever has paid it. */
export const repeatChallenge: Fault = async (client, answered, challenge) => {
  await answered
  deliver(client, challenge)
}

function isPaid({ headers }: IncomingMessage): boolean {
  return headers['payment-signature'] !== undefined || headers.authorization !== undefined
}

async function forward(target: string, call: IncomingMessage, body: Buffer): Promise<Answer> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const { method = 'GET', url = '/', rawHeaders } = call
    request(target + url, { method, headers: rawHeaders as string[], agent: false }, resolve)
      .once('error', reject)
      .end(body)
  })
  return { status: answer.statusCode!, rawHeaders: answer.rawHeaders, body: await readAll(answer) }
}

function deliver(client: ServerResponse, { status, rawHeaders, body }: Answer): void {
  client.writeHead(status, [...rawHeaders]).end(body)
}

function bytesOf({ status, rawHeaders, body }: Answer): Buffer {
  const lines = Array.from(
    { length: rawHeaders.length / 2 },
    (_, i) => `${rawHeaders[2 * i]}: ${rawHeaders[2 * i + 1]}`,
  )
  return Buffer.concat([Buffer.from(`HTTP/1.1 ${status} \r\n${lines.join('\r\n')}\r\n\r\n`), body])
}

function write({ socket }: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve) => socket!.write(bytes, () => resolve()))
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
