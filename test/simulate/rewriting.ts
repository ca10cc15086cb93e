import type { LoadHookSync } from 'node:module'

/** One place in a file that is to read otherwise. */
export type Cut = { readonly file: string; readonly from: string; readonly to: string }

/** For `registerHooks`: files with other text in some places. A cut that no longer fits fails loudly. */
export function rewriting(name: string, cuts: readonly Cut[]): { readonly load: LoadHookSync } {
  return {
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context)
      const own = cuts.filter(({ file }) => url.endsWith(`/${file}`))
      if (own.length === 0) return loaded
      let text = Buffer.from(loaded.source as Uint8Array).toString('utf8')
      for (const { file, from, to } of own) {
        if (!text.includes(from)) throw new TypeError(`${name}: ${file} reads differently now`)
        text = text.replace(from, () => to)
      }
      return { ...loaded, source: text }
    },
  }
}
