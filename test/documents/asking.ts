import type { JsonObject } from '../../src/base/json.ts'
import { filledIn, post } from '../support/buyers.ts'
import type { Listed } from './documents.ts'

// How each operation is asked by whoever knows nothing but its contract.

/** Whoever crafts must be the payer, and own what is burned. */
export type Asker = {
  readonly address: string
  readonly nfts: readonly { readonly contract: string; readonly tokenId: string }[]
}

export const railOf = ({ path }: Listed) => (path.includes('mpp') ? 'mpp' : 'x402')

export const exampleBody = ({ operation }: Listed) =>
  filledIn(operation.requestBody?.content['application/json']?.example ?? {})

/** The example; but what only the asker knows is theirs. */
export function paidRequest(listed: Listed, { address, nfts }: Asker): RequestInit {
  if (listed.method === 'GET') return {}
  const example = exampleBody(listed)
  if (!listed.path.startsWith('/craft/')) return post(example)
  const burned = railOf(listed) === 'mpp' ? nfts.slice(1, 2) : nfts.slice(2, 3)
  return post({ ...example, user: address, ...(example['nfts'] ? { nfts: burned } : {}) } as JsonObject)
}

/** What names a purchase, by the path that sold it. */
export type Bought = ReadonlyMap<string, string>

/** The address of a free operation, with what its parameters are for. */
export function freeAddress({ path, operation }: Listed, bought: Bought): string {
  const parameters = (operation['parameters'] ?? []) as readonly { name: string; in: string; example?: unknown }[]
  const query = new URLSearchParams(
    parameters.flatMap(({ name, example }) => (example === undefined ? [] : [[name, filledIn(String(example))]])),
  )
  const filled = path
    .replace('{reference}', bought.get('/x402/report-tx') ?? '')
    .replace('{paymentTx}', transactionOf(path, bought))
    .replace('{catalogId}', 'sale:392')
  return `${filled}?${query}`.replace(/\?$/, '')
}

/** What was bought where this status is read. */
function transactionOf(path: string, bought: Bought): string {
  const place = path.split('/').slice(0, 3).join('/')
  return [...bought].find(([sold]) => sold.startsWith(`${place}/`))?.[1] ?? ''
}
