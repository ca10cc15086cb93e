import { type Condition, isWithin, NO_SLOTS, type Reach, union } from './from.ts'
import { lookupOf } from './heap.ts'
import type { Frame, Work } from './level.ts'
import { rulesOf, type UniqueRule } from './rules.ts'
import type { Row } from './value.ts'

/** Puts one row after the other into the frame; true as soon as nobody wants more. */
export type Loop = (frame: Frame, emit: () => boolean) => boolean

export function loopOf(reach: Reach | null): Loop {
  return reach ? loop(reach, NO_SLOTS) : (_frame, emit) => emit()
}

function loop(reach: Reach, before: ReadonlySet<number>): Loop {
  const { sides, isOuter, filters } = reach
  if (!sides) return scan(reach, before)
  const [left, right] = sides
  const [first, second] = [loop(left, before), loop(right, union(before, left.slots))]
  const holds = allOf(filters)
  if (!isOuter) return (frame, emit) => first(frame, () => second(frame, () => holds(frame) && emit()))
  const nothings = leavesOf(right).map(({ item }) => item!)
  return (frame, emit) =>
    first(frame, () => {
      let isFound = false
      const isOver = second(frame, () => {
        isFound = true
        return holds(frame) && emit()
      })
      if (isOver || isFound) return isOver
      for (const { slot, nothing } of nothings) frame.rows[slot] = nothing
      return holds(frame) && emit()
    })
}

export function leavesOf(reach: Reach): readonly Reach[] {
  return reach.sides ? reach.sides.flatMap(leavesOf) : [reach]
}

function allOf(conditions: readonly Condition[]): (frame: Frame) => boolean {
  const works = conditions.map(({ work }) => work)
  if (works.length === 0) return () => true
  if (works.length === 1) return (frame) => works[0]!(frame) === true
  return (frame) => {
    for (const work of works) if (work(frame) !== true) return false
    return true
  }
}

function scan(reach: Reach, before: ReadonlySet<number>): Loop {
  const { item, filters } = reach
  const { slot } = item!
  const rows = lookup(reach, before) ?? reach.rows!
  // What looks at no row of this one decides about all of them.
  const [first, each] = [true, false].map((isFirst) =>
    allOf(filters.filter(({ slots }) => !slots.has(slot) === isFirst)),
  )
  return (frame, emit) => {
    if (!first!(frame)) return false
    for (const row of rows(frame)) {
      frame.rows[slot] = row
      if (each!(frame) && emit()) return true
    }
    return false
  }
}

/** A row by a unique key, when all of it is known before. */
function lookup(
  { table, item, filters }: Reach,
  before: ReadonlySet<number>,
): ((frame: Frame) => readonly Row[]) | null {
  if (!table) return null
  const known = new Map<number, Work>()
  for (const { equality } of filters)
    if (equality?.slot === item!.slot && isWithin(equality.others, before)) known.set(equality.place, equality.other)
  const unique = rulesOf(table).uniques.find(({ places }) => places?.every((place) => known.has(place)))
  if (!unique) return null
  const works = unique.places!.map((place) => known.get(place)!)
  return (frame) => found(frame, table.id, unique, works)
}

const NONE: readonly Row[] = []

function found(frame: Frame, id: number, unique: UniqueRule, works: readonly Work[]): readonly Row[] {
  const values = works.map((work) => work(frame))
  if (values.some((value) => value === null)) return NONE
  const row = lookupOf(frame.run.seen.heaps[id]!, unique).get(unique.keyOf(values))
  return row ? [row] : NONE
}
