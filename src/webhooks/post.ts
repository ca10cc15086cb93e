import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import type { Clock } from '../base/clock.ts'
import type { WebhookAnswer } from '../store/webhooks/deliveries.ts'
import type { Endpoint } from '../store/webhooks/endpoints.ts'
import { signedHeaders } from './sign.ts'
import { portOf, type Resolve, reachableAddress, readTarget, type TargetPolicy } from './target.ts'

type PostAnswer = { readonly status: number; readonly text: string }

/** Sends one message and reads the answer. Throws when there is none. */
export type Post = (message: PostMessage, stop: AbortSignal) => Promise<PostAnswer>

export type PostMessage = {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

type Sending = { readonly post: Post; readonly clock: Clock }

/** Signs a message for an endpoint, sends it once, and tells what came of it: an answer, or why there was none. */
export async function sendTo(
  { post, clock }: Sending,
  { url, secrets }: Pick<Endpoint, 'url' | 'secrets'>,
  { id, body }: { readonly id: string; readonly body: string },
  stop: AbortSignal = new AbortController().signal,
): Promise<WebhookAnswer> {
  const at = clock.now()
  const headers = signedHeaders({ id, body, atMs: at }, secrets)
  return post({ url, headers, body }, stop).then(
    ({ status, text }) => ({ at, status, ms: clock.now() - at, text }),
    (error: Error) => ({ at, status: null, ms: clock.now() - at, text: error.message.slice(0, TEXT_LENGTH_MAX) }),
  )
}

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
const TEXT_LENGTH_MAX = 500

/** The name is looked up and judged for every message, and the connection goes to the very address that passed. Redirects are answers. */
export function createPost(options: { clock: Clock; resolve: Resolve; policy: TargetPolicy }): Post {
  const { clock, resolve, policy } = options
  const agents = {
    'http:': new http.Agent({ keepAlive: true, maxFreeSockets: 32 }),
    'https:': new https.Agent({ keepAlive: true, maxFreeSockets: 32 }),
  }

  async function send(message: PostMessage, signal: AbortSignal): Promise<PostAnswer> {
    const target = readTarget(message.url, policy)
    const address = await reachableAddress(target, (name) => resolve(name, signal), policy)
    signal.throwIfAborted()
    return request(target, address, message, signal)
  }

  function request(target: URL, address: string, message: PostMessage, signal: AbortSignal): Promise<PostAnswer> {
    const isSecure = target.protocol === 'https:'
    const host = target.hostname.replace(/^\[(.*)\]$/, '$1')
    return new Promise((resolve, reject) => {
      const outgoing = (isSecure ? https : http).request({
        method: 'POST',
        host: address,
        port: portOf(target),
        path: target.pathname + target.search,
        // The certificate must be of the name that was registered, whatever address it led to.
        ...(isSecure && !isIP(host) ? { servername: host } : {}),
        agent: agents[isSecure ? 'https:' : 'http:'],
        signal,
        headers: {
          ...message.headers,
          host: target.host,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(message.body),
          'user-agent': 'Sutler-Webhooks',
        },
      })
      outgoing.on('response', (response) => void readAnswer(response).then(resolve, reject))
      outgoing.on('error', (error) => {
        // The receiver closed a kept connection just when it was used again; nothing was read from it.
        const isStale = outgoing.reusedSocket && (error as NodeJS.ErrnoException).code === 'ECONNRESET'
        if (isStale && !signal.aborted) request(target, address, message, signal).then(resolve, reject)
        else reject(error)
      })
      outgoing.end(message.body)
    })
  }

  return async (message, stop) => {
    const done = new AbortController()
    const tooLate = new AbortController()
    const alarm = clock.sleep(TIMEOUT_MS, done.signal).then(() => {
      if (!done.signal.aborted) tooLate.abort()
    })
    const giveUp = AbortSignal.any([stop, tooLate.signal])
    try {
      // Where the system looks a name up, that cannot be called off, so it is left behind.
      return await Promise.race([send(message, giveUp), aborted(giveUp)])
    } catch (error) {
      throw tooLate.signal.aborted ? new Error(`no answer within ${TIMEOUT_MS / 1000} seconds`) : error
    } finally {
      done.abort()
      await alarm
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

/** The status decides; of the text only so much is read as somebody may want to see. */
function readAnswer(response: http.IncomingMessage): Promise<PostAnswer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const finish = () => {
      const text = Buffer.concat(chunks).toString('utf8').slice(0, TEXT_LENGTH_MAX)
      // PostgreSQL takes neither zero characters nor half of a pair.
      resolve({ status: response.statusCode ?? 0, text: text.replaceAll('\0', '').toWellFormed() })
    }
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size <= ANSWER_BYTES_MAX) return
      finish()
      response.destroy()
    })
    response.on('end', finish)
    response.on('error', reject)
  })
}
