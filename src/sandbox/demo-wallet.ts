import type { Hex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import { usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import { sandboxKey } from '../config/published.ts'

/** A request, and the 402 that it was answered with. */
type Asked = {
  readonly url: string
  readonly method: string
  readonly body?: string | undefined
  readonly challenge: { readonly headers: Readonly<Record<string, string>>; readonly body: string }
}

/** Play money; no single payment of a page is higher. */
const MAX = usd(1_000_000_000n)

/**
 * Signs what a 402 asks for with the demo key, by the stock client of whichever protocol asks. It sends nothing: the page that asked does,
 * to the same route as any client. Nothing is given away by it, for the key is published.
 */
export async function signWithDemoKey(
  { url, method, body, challenge }: Asked,
  rpcUrl: (chainId: number) => string,
): Promise<JsonObject> {
  // They take long to load, and only who presses the button needs them.
  const [{ clients }, { privateKeyToAccount }] = await Promise.all([
    import('../rails/clients.ts'),
    import('viem/accounts'),
  ])
  const account = privateKeyToAccount(sandboxKey('demo').reveal() as Hex)
  const asked = () => new Response(challenge.body, { status: 402, headers: challenge.headers })
  const client = clients.find((one) => one.priceIn(asked()) !== null)
  const price = client?.priceIn(asked())
  if (!client || !price)
    throw new Problem('invalid_request', 'This is no 402 of a protocol that the demo wallet knows.')
  let sent: Headers | null = null
  const stub = (async (input: string | URL | Request, init?: RequestInit) => {
    const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined))
    if (client.referenceIn(headers) === null) return asked()
    sent = headers
    return new Response('{}', { status: 200 })
  }) as typeof fetch
  const chainId = Number(price.network.split(':')[1])
  const pay = await client.pay({ account, rpcUrl: rpcUrl(chainId), max: MAX }, stub)
  await pay(url, { method, ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }) })
  if (sent === null) throw new Problem('invalid_request', 'The demo wallet could not sign what this 402 asks for.')
  return signedIn(sent, client)
}

/** The payment header of a request, and what is written in it. */
function signedIn(headers: Headers, { referenceIn }: { referenceIn(headers: Headers): string | null }): JsonObject {
  for (const [name, value] of headers) {
    const reference = referenceIn(new Headers([[name, value]]))
    if (reference === null) continue
    const encoded = value.split(' ').at(-1)!
    return {
      name,
      value,
      reference,
      content: JSON.parse(Buffer.from(encoded, 'base64url').toString('utf8')) as JsonObject,
    }
  }
  throw new TypeError('a payment was sent in no header')
}
