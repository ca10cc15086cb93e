import type { JsonObject } from '../../base/json.ts'
import { parseUsd } from '../../base/money.ts'
import type { PaidRoute } from '../../domain/route.ts'
import type { Facts, ListedItem } from './facts.ts'

/** What a reader may copy: the cheapest thing that is on the shelf now, and placeholders where only the reader knows. */
export function exampleNow({ items }: Facts, { surface, example, idField }: PaidRoute): JsonObject {
  const item = idField === null ? null : cheapest(items.filter((one) => one.surface === surface))
  if (item === null || idField === null) return example
  return { ...example, [idField]: typeof example[idField] === 'number' ? Number(item.id) : item.id }
}

export function cheapest(items: readonly ListedItem[]): ListedItem | null {
  const [first = null] = items
    .filter(({ available }) => available !== false)
    .toSorted((one, other) => (parseUsd(one.price.amount) < parseUsd(other.price.amount) ? -1 : 1))
  return first
}
