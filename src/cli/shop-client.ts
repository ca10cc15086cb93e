import type { JsonObject } from '../base/json.ts'
import { stringify } from '../base/json.ts'
import { readClientConfig } from '../config/client.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type CommandCall, CommandRefusal } from './command.ts'

/** A running shop, as its operator or anybody else talks to it. */
export type ShopClient = {
  readonly url: string
  /** The shape is what our own routes answer; another version of the shop may differ. */
  get<Answer = JsonObject>(path: string): Promise<Answer>
  post<Answer = JsonObject>(path: string, body?: JsonObject): Promise<Answer>
  delete<Answer = JsonObject>(path: string): Promise<Answer>
}

/** Nobody listens there. */
export class ShopSilent extends CommandRefusal {
  constructor(url: string, cause: unknown) {
    super('shop_silent', `nobody answers at ${url}; start the shop with \`sutler start\`, or name another with --url`, {
      cause,
    })
    this.name = 'ShopSilent'
  }
}

export function shopUrl(call: Pick<CommandCall, 'option' | 'env'>): string {
  const given = call.option('url')
  if (given !== undefined && !/^https?:\/\//.test(given))
    throw new CommandRefusal('invalid_url', `${given} is not the address of a shop; it begins with http:// or https://`)
  return (given ?? readClientConfig(call.env).url).replace(/\/+$/, '')
}

/** For the routes that anybody may call. */
export function publicClient(call: Pick<CommandCall, 'option' | 'env'>): ShopClient {
  return createClient(shopUrl(call), {})
}

/** For the operator's routes. */
export function operatorClient(call: Pick<CommandCall, 'option' | 'env'>): ShopClient {
  const token = call.option('token') ?? readClientConfig(call.env).operatorToken.reveal()
  return createClient(shopUrl(call), { authorization: `Bearer ${token}` })
}

function createClient(url: string, headers: Readonly<Record<string, string>>): ShopClient {
  async function send<Answer>(method: string, path: string, body?: JsonObject): Promise<Answer> {
    const response = await boundedFetch(url + path, {
      method,
      headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: stringify(body) }),
    }).catch((error) => {
      throw new ShopSilent(url, error)
    })
    const text = await response.text()
    const answer = asObject(text)
    // The shop has taken it down, and nothing was done yet.
    const isDone = response.ok && answer?.code !== 'approval_needed'
    if (isDone && answer) return answer as Answer
    throw refusalOf(url, path, response.status, answer)
  }
  return {
    url,
    get: (path) => send('GET', path),
    post: (path, body = {}) => send('POST', path, body),
    delete: (path) => send('DELETE', path),
  }
}

function asObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as JsonObject) : null
  } catch {
    return null
  }
}

function refusalOf(url: string, path: string, status: number, answer: JsonObject | null): CommandRefusal {
  const { code, detail } = answer ?? {}
  if (code === 'operator_only')
    return new CommandRefusal(
      'operator_only',
      `${url} does not accept the operator token; set SUTLER_OPERATOR_TOKEN, or give --token`,
    )
  if (code === 'route_not_found' && path.startsWith('/operator') && String(detail).startsWith('There is no '))
    return new CommandRefusal(
      'route_not_found',
      `${url} has no such operator route; it runs without SUTLER_OPERATOR_TOKEN, or is no shop`,
    )
  if (typeof code === 'string' && typeof detail === 'string') {
    const { errors = [] } = (answer ?? {}) as { errors?: readonly { pointer: string; detail: string }[] }
    const lines = errors.filter(({ pointer }) => pointer.startsWith('/csv/')).map((error) => `\n  ${error.detail}`)
    return new CommandRefusal(code, detail + lines.join(''), {
      wrong: errors.map(({ pointer, detail }) => ({ member: pointer.slice(1), detail })),
    })
  }
  return new CommandRefusal(
    'unexpected_answer',
    `${url}${path} answers ${status}, which no Sutler would; is this a shop?`,
  )
}
