import type { HttpBindings } from '@hono/node-server'
import type { Context } from 'hono'
import { newId, type Random } from '../base/id.ts'
import { Problem } from '../base/problem.ts'

export type HttpContext = Context<{ Bindings: Partial<HttpBindings> }>

const FLOW_ID = /^[A-Za-z0-9_.:-]{1,128}$/
const JSON_TYPE = /^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i

/** The caller's own correlation id when it is a decent one, otherwise one of ours. It comes back in `X-Flow-Id`. */
export function flowIdOf(c: HttpContext, random: Random): string {
  const given = c.req.header('x-flow-id')
  return given !== undefined && FLOW_ID.test(given) ? given : newId('flow', random)
}

/** Every line with this name. Node joins or drops repeated headers, so the raw lines are asked. */
function linesOf(c: HttpContext, name: string): number {
  const raw = c.env?.incoming?.rawHeaders
  if (!raw) return c.req.header(name) === undefined ? 0 : 1
  let lines = 0
  for (let i = 0; i < raw.length; i += 2) if (raw[i]!.length === name.length && raw[i]!.toLowerCase() === name) lines++
  return lines
}

export function hasPayment(c: HttpContext): boolean {
  return c.req.header('payment-signature') !== undefined || /^\s*Payment\s/i.test(c.req.header('authorization') ?? '')
}

/** Exactly one payment, of one protocol, in one header. Two could be read differently by a proxy and by us. */
export function assertOnePayment(c: HttpContext): void {
  const signatures = linesOf(c, 'payment-signature')
  const authorizations = linesOf(c, 'authorization')
  if (signatures === 0 && authorizations === 0) return
  const credentials = (c.req.header('authorization') ?? '')
    .split(/,\s*(?=Payment\s)/i)
    .filter((value) => /^\s*Payment\s/i.test(value)).length
  const isAmbiguous =
    signatures > 1 ||
    authorizations > 1 ||
    credentials > 1 ||
    (signatures === 1 && (credentials === 1 || c.req.header('payment-signature')?.includes(',')))
  if (isAmbiguous) throw new Problem('ambiguous_payment', 'Send exactly one payment header, once; nothing was taken.')
}

/** Reads the body and counts its bytes itself: a length header may lie, and a chunked body has none. */
export async function readBody(c: HttpContext, bytesMax: number): Promise<Uint8Array> {
  if (c.req.method === 'GET' || c.req.method === 'HEAD') return EMPTY
  const { incoming } = c.env ?? {}
  const declared = Number(c.req.header('content-length') ?? 0)
  if (declared > bytesMax) throw tooLarge(bytesMax)
  const body = incoming ? await readStream(incoming, bytesMax) : new Uint8Array(await c.req.arrayBuffer())
  if (body.length > bytesMax) throw tooLarge(bytesMax)
  if (body.length === 0) return EMPTY
  if (c.req.header('content-encoding') !== undefined)
    throw new Problem('unsupported_media_type', 'Send the body without compression.')
  if (!JSON_TYPE.test(c.req.header('content-type') ?? ''))
    throw new Problem('unsupported_media_type', 'Send the body as Content-Type: application/json.')
  return body
}

const EMPTY = new Uint8Array()

function readStream(incoming: NonNullable<Partial<HttpBindings>['incoming']>, bytesMax: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    incoming.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size <= bytesMax) return chunks.push(chunk)
      // The rest is not read: the connection is closed after the answer.
      incoming.pause()
      reject(tooLarge(bytesMax))
    })
    incoming.on('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)))
    incoming.on('error', (cause) => reject(new Problem('invalid_json', 'The body did not arrive whole.', { cause })))
    incoming.on('aborted', () => reject(new Problem('invalid_json', 'The body did not arrive whole.')))
  })
}

function tooLarge(bytesMax: number): Problem {
  return new Problem('body_too_large', `The body is larger than ${bytesMax / 1024} KiB.`)
}

/** No body, or `{}`: a question for the price. */
export function isEmptyBody(body: Uint8Array): boolean {
  return body.length === 0 || (body.length <= 16 && /^\s*\{\s*\}\s*$/.test(Buffer.from(body).toString('latin1')))
}

/** A parameter given twice is a contradiction, not a list. */
export function queryOf(c: HttpContext): Readonly<Record<string, string>> {
  const entries = Object.entries(c.req.queries()).map(([name, values]): [string, string] => {
    if (values.length > 1) throw new Problem('duplicate_key', `The parameter ${name.slice(0, 64)} is given twice.`)
    return [name, values[0] ?? '']
  })
  return Object.fromEntries(entries)
}
