import type { JsonObject } from '../base/json.ts'

// What a purchase is about, read from what was asked: every good names these things in a way of its own.

const text = (value: unknown): string | null =>
  typeof value === 'string' ? value : typeof value === 'number' ? String(value) : null

/** Which one of its kind, where the request names one. The store's sums ask the same. */
export function itemOf({ itemId, saleId }: JsonObject): string | null {
  return text(itemId) ?? text(saleId)
}

export function quantityOf({ quantity, nfts }: JsonObject): number {
  return typeof quantity === 'number' ? quantity : Array.isArray(nfts) ? nfts.length : 1
}

/** Who gets it, as the request named them: in the order in which the store's index does. */
export function playerOf({ nickname, address, payer, beneficiary, user, userId }: JsonObject): string | null {
  return text(nickname) ?? text(address) ?? text(payer) ?? text(beneficiary) ?? text(user) ?? text(userId)
}

/** As people call it: by its name on the shelf, else by the kind of thing it is. */
export function titleOf({ good, item, name }: { good: string; item: string | null; name: string | null }): string {
  if (name !== null) return name
  const words = good.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  const kind = words.charAt(0).toUpperCase() + words.slice(1)
  return item === null ? kind : `${kind} ${item}`
}
