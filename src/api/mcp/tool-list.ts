import type { JsonObject } from '../../base/json.ts'
import { formatUsd, type Usd } from '../../base/money.ts'
import type { McpTool } from './server.ts'

/** Prints the list of tools with today's prices: once, and again when a price has changed. */
export function createToolList(
  tools: readonly McpTool[],
  print: (members: JsonObject) => string,
): () => Promise<string> {
  let last: { readonly prices: string; readonly text: string } | null = null
  return async () => {
    const prices = await Promise.all(tools.map(priceOf))
    const key = prices.join()
    if (last?.prices !== key) {
      const listed = tools.map(({ listing }, index) => withPrice(listing, prices[index] ?? null))
      last = { prices: key, text: print({ tools: listed }) }
    }
    return last.text
  }
}

/** A store that does not answer is no reason to list nothing: then the challenge tells the price. */
async function priceOf({ price }: McpTool): Promise<Usd | null> {
  try {
    return price ? await price() : null
  } catch {
    return null
  }
}

function withPrice(listing: McpTool['listing'], price: Usd | null): JsonObject {
  if (price === null) return listing
  const meta = listing['_meta'] as { readonly 'sutler/payment': JsonObject }
  return { ...listing, _meta: { ...meta, 'sutler/payment': { ...meta['sutler/payment'], price: formatUsd(price) } } }
}
