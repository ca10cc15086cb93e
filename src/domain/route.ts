import * as z from 'zod'
import type { JsonObject } from '../base/json.ts'
import type { SurfaceName } from './good.ts'
import type { Offer } from './offer.ts'
import type { ToolDescription } from './tool-description.ts'

type Method = 'GET' | 'POST'
type Key = `${Method} /${string}`

/** Which public address answers a route; `both`: every one of them. When there is only one, everything answers there. */
export type Host = string

type Common = {
  readonly method: Method
  readonly path: string
  readonly surface: SurfaceName | null
  readonly host: Host
  readonly summary: string
  readonly description: string
  /** How MCP hosts see this row; usually one tool, none for what only machines fetch. */
  readonly tools: readonly ToolDescription[]
}

/** A route that costs money: one row, one offer. Everything a client, a crawler or an MCP host learns of it is derived from here. */
export type PaidRoute = Common & {
  readonly kind: 'paid'
  readonly surface: SurfaceName
  readonly offer: Offer
  /** Null: the route has no parameters, and takes no body or `{}`. */
  readonly body: z.ZodType<JsonObject> | null
  /** An example that works in the sandbox, where one can be given. */
  readonly example: JsonObject
  /** Members of a 200 answer. */
  readonly result: z.ZodType
  /** False for the one route whose priced call may be empty while the paid call is not (contract 4.2.3). */
  readonly bodyIsBound: boolean
  /** A GET on the same path answers the price, and never sells. */
  readonly hasPriceProbe: boolean
  readonly isRateLimited: boolean
  /** The member of the body that names something on the surface's shelf; null where nothing does. */
  readonly idField: string | null
  /** How crawlers of the protocol describe the operation (the `bazaar` extension). */
  readonly discovery?: (() => JsonObject) | undefined
}

export type FreeCall<Params, Query, Body> = {
  readonly params: Params
  readonly query: Query
  readonly body: Body
  /** The body as it came, for routes that speak another protocol inside it. */
  readonly bytes: Uint8Array
  readonly host: Host
  /** By its lower-case name. */
  header(name: string): string | undefined
}

export type FreeAnswer = {
  readonly status?: number
  readonly body: JsonObject | string
  /** The same, encoded once for many readers; for texts so large that encoding them again each time would cost more than sending them. */
  readonly bytes?: Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

type Cache = 'no-store' | 'private' | { readonly maxAgeSeconds: number }

export type FreeRoute = Common & {
  readonly kind: 'free'
  readonly params: z.ZodType | null
  readonly query: z.ZodType | null
  readonly body: z.ZodType | null
  /** What to ask, by the names of the parameters or of the body's members, in words that work in the sandbox. */
  readonly example: JsonObject | null
  /** Null for documents that are not JSON. */
  readonly result: z.ZodType | null
  /** What it answers beside 200 and what every route may answer: 202 while something is still moving, 404 where something is named. */
  readonly statuses: readonly number[]
  readonly contentType: string
  readonly cache: Cache
  /** Which allowance of the caller it uses up; null for none. */
  readonly bucket: 'quote' | 'read' | null
  /** Set where the usual bound on bodies is too small. */
  readonly bodyBytesMax: number | null
  /** Answered however much else is under way: it costs nothing and depends on nothing. */
  readonly isVital: boolean
  /** A file for programs, though people may open it too: it has one form only. */
  readonly isDocument: boolean
  handle(call: FreeCall<unknown, unknown, unknown>): Promise<FreeAnswer>
}

export type Route = PaidRoute | FreeRoute

type PaidRow<Input extends JsonObject> = Pick<
  PaidRoute,
  'surface' | 'summary' | 'description' | 'example' | 'result'
> & {
  readonly offer: Offer<Input>
  readonly body: z.ZodType<Input> | null
  readonly host?: Host
  readonly bodyIsBound?: boolean
  readonly hasPriceProbe?: boolean
  readonly isRateLimited?: boolean
  readonly idField?: string
  readonly tools?: readonly ToolDescription[]
}

/** The schema types the offer: a row whose good cannot take its body does not compile. */
export function paid<Input extends JsonObject>(key: Key, row: PaidRow<Input>): PaidRoute {
  const {
    host = row.offer.rail.baseUrl,
    bodyIsBound = true,
    hasPriceProbe = false,
    isRateLimited = true,
    idField = null,
    tools = [],
  } = row
  return {
    ...(row as unknown as PaidRoute),
    kind: 'paid',
    ...split(key),
    host,
    bodyIsBound,
    hasPriceProbe,
    isRateLimited,
    idField,
    tools,
  }
}

type FreeRow<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType> = Pick<
  FreeRoute,
  'host' | 'summary'
> & {
  readonly surface?: SurfaceName
  readonly description?: string
  readonly tools?: readonly ToolDescription[]
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  readonly example?: JsonObject
  readonly result?: z.ZodType
  readonly statuses?: readonly number[]
  readonly contentType?: string
  readonly cache?: Cache
  readonly bucket?: 'quote' | 'read' | null
  readonly bodyBytesMax?: number
  readonly isVital?: boolean
  readonly isDocument?: boolean
  readonly handle: (call: FreeCall<z.output<Params>, z.output<Query>, z.output<Body>>) => Promise<FreeAnswer>
}

export function free<Params extends z.ZodType, Query extends z.ZodType, Body extends z.ZodType>(
  key: Key,
  row: FreeRow<Params, Query, Body>,
): FreeRoute {
  const {
    tools = [],
    surface = null,
    description = row.summary,
    params = null,
    query = null,
    body = null,
    example = null,
    result = null,
    statuses = [],
  } = row
  const {
    contentType = 'application/json',
    cache = 'no-store',
    bucket = 'read',
    bodyBytesMax = null,
    isVital = false,
    isDocument = false,
    host,
    summary,
  } = row
  const handle = row.handle as FreeRoute['handle']
  return {
    kind: 'free',
    ...split(key),
    host,
    surface,
    summary,
    description,
    tools,
    params,
    query,
    body,
    example,
    result,
    statuses,
    contentType,
    cache,
    bucket,
    bodyBytesMax,
    isVital,
    isDocument,
    handle,
  }
}

function split(key: Key): { method: Method; path: string } {
  const [method, path] = key.split(' ') as [Method, string]
  return { method, path }
}

export const referenceParams = z.strictObject({
  paymentTx: z
    .string()
    .min(1)
    .describe('Payment transaction; the order id, the nonce of the payment or the challenge id work too'),
})

/** What a status route answers beside 200. */
export const STATUS_ANSWERS = [202, 404, 409] as const
