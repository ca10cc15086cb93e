import type { Loop } from './join.ts'
import { keyOf } from './kinds.ts'
import type { Expr, Frame, Sum, Total } from './level.ts'
import type { Row } from './value.ts'

export type Group = {
  readonly loop: Loop
  readonly frame: Frame
  /** What rows of one group share. Null: every row stands for itself. */
  readonly keys: readonly Expr[] | null
  readonly sums: readonly Sum[]
}

/** A frame for each group, with its first row and its sums; without keys all is one group, also where there is nothing. */
export function grouped({ loop, frame, keys, sums }: Group, nothings: () => readonly Row[]): readonly Frame[] {
  const { up, run } = frame
  if (!keys) {
    const frames: Frame[] = []
    loop(frame, () => {
      frames.push({ rows: frame.rows.slice(), up, run, sums: [] })
      return false
    })
    return frames
  }
  const groups = new Map<string, { readonly rows: Row[]; readonly totals: readonly Total[] }>()
  const begin = (rows: Row[]) => ({ rows, totals: sums.map((sum) => sum.begin()) })
  const kindAt = (place: number) => keys[place]!.kind
  loop(frame, () => {
    const key =
      keys.length === 0
        ? ''
        : keyOf(
            keys.map(({ work }) => work(frame)),
            kindAt,
          )
    let group = groups.get(key)
    if (!group) {
      group = begin(frame.rows.slice())
      groups.set(key, group)
    }
    for (const [place, { filter, argument }] of sums.entries())
      if (!filter || filter(frame) === true) group.totals[place]!.add(argument ? argument(frame) : true)
    return false
  })
  if (keys.length === 0 && groups.size === 0) groups.set('', begin([...nothings()]))
  return [...groups.values()].map(({ rows, totals }) => ({ rows, up, run, sums: totals.map((total) => total.value()) }))
}
