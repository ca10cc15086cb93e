import type { JsonObject } from '../../base/json.ts'
import { stringify } from '../../base/json.ts'
import { once } from '../../base/once.ts'
import type { McpTool } from './server.ts'

/** `tools/list`, written anew only when a price in it has changed. */
export function createToolList(tools: readonly McpTool[], print: (listings: readonly JsonObject[]) => string) {
  const plain = once(() => tools.map(({ listing }) => listing()))
  let last: { readonly prices: string; readonly text: string } | null = null
  return async (): Promise<string> => {
    const metas = await Promise.all(tools.map(async ({ priceMeta }) => (await priceMeta?.().catch(() => ({}))) ?? {}))
    const prices = stringify(metas)
    if (last?.prices !== prices) {
      const listings = plain().map((listing, index): JsonObject => {
        const meta = { ...(listing['_meta'] as JsonObject | undefined), ...metas[index] }
        return Object.keys(meta).length === 0 ? listing : { ...listing, _meta: meta }
      })
      last = { prices, text: print(listings) }
    }
    return last.text
  }
}
