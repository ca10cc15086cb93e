import type * as z from 'zod'
import type { Clock } from '../../base/clock.ts'
import { type Exchange, OutgoingFailure, systemExchange } from '../../base/outgoing.ts'
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

type GameRequest = {
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
    this.neverSent = cause instanceof TooLate || (cause instanceof OutgoingFailure && cause.neverSent)
  }
}

type GameClientOptions = {
  readonly url: string
  readonly secret: Secret
  readonly timeoutMs: number
  readonly clock: Clock
  readonly exchange?: Exchange
}

const ANSWER_BYTES_MAX = 1024 * 1024
/** This process slept between the record and the call: whoever read the record since may have decided without it. */
const LATE_MS_MAX = 5_000

class TooLate extends Error {
  constructor() {
    super('it was not sent: too much time has passed since it was written down')
  }
}

export function createGameClient(options: GameClientOptions): GameClient {
  const { url, secret, timeoutMs, clock, exchange = systemExchange } = options

  async function ask<Answer>(
    { method, path, body, at = clock.now() }: GameRequest,
    schema: z.ZodType<Answer>,
  ): Promise<Answer> {
    const text = body === undefined ? '' : JSON.stringify(body)
    const signed: SignedRequest = { method, path, body: text, timestamp: at }
    const signature = signRequest(secret, signed)
    const {
      status,
      headers,
      text: answer,
    } = await exchange({
      url: url + path,
      method,
      timeoutMs,
      bytesMax: ANSWER_BYTES_MAX,
      mayRepeat: method === 'GET',
      headers: {
        'content-type': 'application/json',
        [TIMESTAMP_HEADER]: String(signed.timestamp),
        [SIGNATURE_HEADER]: signature,
      },
      ...(method === 'POST' ? { body: text } : {}),
    })
    const expected = signAnswer(secret, signature, status, answer)
    if (!isSignature(headers[SIGNATURE_HEADER], expected)) throw new Error(`status ${status} without a right signature`)
    if (status !== 200) throw new Error(`status ${status}`)
    return schema.parse(JSON.parse(answer))
  }

  async function send<Answer>(request: GameRequest, schema: z.ZodType<Answer>): Promise<Answer> {
    if (request.at !== undefined && clock.now() - request.at > LATE_MS_MAX) throw new GameSilent(new TooLate())
    try {
      return await ask(request, schema)
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

/** A kept connection that the other side had closed already. */
function isBrokenConnection(cause: unknown): boolean {
  return cause instanceof OutgoingFailure && ['ECONNRESET', 'EPIPE'].includes(cause.code)
}
