import type * as z from 'zod'
import type { Clock } from '../../base/clock.ts'
import { Problem } from '../../base/problem.ts'
import type { Secret } from '../../base/secret.ts'
import {
  isSignature,
  SIGNATURE_HEADER,
  type SignedRequest,
  signAnswer,
  signRequest,
  TIMESTAMP_HEADER,
} from './game-signature.ts'

/** Speaks with a studio's backend: signed, bounded in time and size, each answer checked before anybody looks into it. */
export type GameClient = {
  /** For what may be asked twice: a lost connection is tried once more. */
  read<Answer>(request: GameRequest, schema: z.ZodType<Answer>): Promise<Answer>
  /** Sent once, whatever happens. Throws GameSilent when no usable answer came. */
  send<Answer>(request: GameRequest, schema: z.ZodType<Answer>): Promise<Answer>
}

export type GameRequest = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  /** When it was written down that this leaves; it is signed with that time. Now, where nothing was written down. */
  readonly at?: number
}

/** No usable answer: what was sent may or may not have been done. Clients see `game_unavailable`. */
export class GameSilent extends Problem {
  /** Proof that nobody received the request: there was no connection. */
  readonly neverSent: boolean
  constructor(cause: unknown) {
    super('game_unavailable', 'The game does not answer; nothing was taken. Try again with the same payment.', {
      cause,
    })
    this.name = 'GameSilent'
    this.neverSent = cause instanceof TooLate || isUnconnected(cause)
  }
}

export type GameClientOptions = {
  readonly url: string
  readonly secret: Secret
  readonly timeoutMs: number
  readonly clock: Clock
}

const ANSWER_BYTES_MAX = 1024 * 1024
/** This process slept between the record and the call: whoever read the record since may have decided without it. */
const LATE_MS_MAX = 5_000

class TooLate extends Error {
  constructor() {
    super('it was not sent: too much time has passed since it was written down')
  }
}

export function createGameClient({ url, secret, timeoutMs, clock }: GameClientOptions): GameClient {
  async function exchange<Answer>(
    { method, path, body, at = clock.now() }: GameRequest,
    schema: z.ZodType<Answer>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const signed: SignedRequest = { method, path, body: text, timestamp: at }
    const signature = signRequest(secret, signed)
    const response = await fetch(url + path, {
      method,
      redirect: 'error',
      signal,
      headers: {
        'content-type': 'application/json',
        [TIMESTAMP_HEADER]: String(signed.timestamp),
        [SIGNATURE_HEADER]: signature,
      },
      ...(method === 'POST' ? { body: text } : {}),
    })
    const answer = await readText(response)
    const expected = signAnswer(secret, signature, response.status, answer)
    if (!isSignature(response.headers.get(SIGNATURE_HEADER), expected))
      throw new Error(`status ${response.status} without a right signature`)
    if (response.status !== 200) throw new Error(`status ${response.status}`)
    return schema.parse(JSON.parse(answer))
  }

  async function send<Answer>(request: GameRequest, schema: z.ZodType<Answer>): Promise<Answer> {
    if (request.at !== undefined && clock.now() - request.at > LATE_MS_MAX) throw new GameSilent(new TooLate())
    try {
      return await exchange(request, schema, AbortSignal.timeout(timeoutMs))
    } catch (cause) {
      throw new GameSilent(cause)
    }
  }

  return {
    send,
    async read(request, schema) {
      try {
        return await send(request, schema)
      } catch (error) {
        if (error instanceof GameSilent && isBrokenConnection(error.cause)) return send(request, schema)
        throw error
      }
    },
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > ANSWER_BYTES_MAX) throw new Error('the answer is too large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const UNCONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
])

function isUnconnected(cause: unknown): boolean {
  return UNCONNECTED.has(codeOf(cause))
}

/** A kept connection that the other side had closed already. */
function isBrokenConnection(cause: unknown): boolean {
  return ['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET'].includes(codeOf(cause))
}

/** `fetch` wraps what the socket said; several addresses of one name are wrapped once more. */
function codeOf(error: unknown): string {
  const { code, cause, errors } = (error ?? {}) as { code?: unknown; cause?: unknown; errors?: unknown[] }
  if (typeof code === 'string') return code
  if (cause !== undefined) return codeOf(cause)
  return errors?.[0] === undefined ? '' : codeOf(errors[0])
}
