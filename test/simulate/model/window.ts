import { keyOf } from './kinds.ts'
import type { Frame, Window } from './level.ts'
import { orderOf } from './order.ts'
import type { Value } from './value.ts'

/** Each row with its place among those of its part. */
export function numbered(frames: readonly Frame[], windows: readonly Window[]): readonly Frame[] {
  const places = windows.map((window) => placesIn(frames, window))
  return frames.map((frame, nth) => ({ ...frame, sums: places.map((list) => list[nth]!) }))
}

function placesIn(frames: readonly Frame[], { partition, order }: Window): readonly Value[] {
  const compare = orderOf(order)
  const kindAt = (place: number) => partition[place]!.kind
  const entries = frames.map((frame, nth) => ({
    nth,
    part: keyOf(
      partition.map(({ work }) => work(frame)),
      kindAt,
    ),
    keys: order.map(({ expr }) => expr.work(frame)),
  }))
  const counts = new Map<string, bigint>()
  const places: Value[] = []
  for (const { nth, part } of entries.toSorted((a, b) => compare(a.keys, b.keys))) {
    const place = (counts.get(part) ?? 0n) + 1n
    counts.set(part, place)
    places[nth] = place
  }
  return places
}
