import type { Node } from 'libpg-query'
import type { Expr, SortKey } from './level.ts'
import { raised, Unsupported } from './raised.ts'
import type { Row } from './value.ts'

/** What rows are ordered by. Without another word null is greater than everything. */
export function sortKeysOf(nodes: readonly Node[] | undefined, exprOf: (node: Node) => Expr): readonly SortKey[] {
  return (nodes ?? []).map((node) => {
    if (!('SortBy' in node) || node.SortBy.useOp) throw new Unsupported('this order', node)
    const { sortby_dir, sortby_nulls } = node.SortBy
    const isDescending = sortby_dir === 'SORTBY_DESC'
    const isNullFirst = sortby_nulls === 'SORTBY_NULLS_FIRST' || (sortby_nulls !== 'SORTBY_NULLS_LAST' && isDescending)
    return { expr: exprOf(node.SortBy.node!), isDescending, isNullFirst }
  })
}

/** Compares what the keys came to for two rows. */
export function orderOf(keys: readonly SortKey[]): (a: Row, b: Row) => number {
  return (a, b) => {
    for (let place = 0; place < keys.length; place++) {
      const { expr, isDescending, isNullFirst } = keys[place]!
      const [one, other] = [a[place]!, b[place]!]
      if (one === null && other === null) continue
      if (one === null || other === null) return (one === null) === isNullFirst ? -1 : 1
      const order = expr.kind.compare(one, other)
      if (order !== 0) return isDescending ? -order : order
    }
    return 0
  }
}

/** How many rows are wanted, and how many are passed over. */
export function countOf(value: unknown): number {
  const count = Number(value)
  if (count < 0) throw raised('2201W', 'LIMIT must not be negative')
  return count
}
