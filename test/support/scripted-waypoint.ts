import { noWaypoint, type Waypoint, type WaypointName } from '../../src/base/waypoint.ts'

/** A waypoint that does something when the shop gets to a point, once. */
export type ScriptedWaypoint = {
  readonly waypoint: Waypoint
  when(name: WaypointName, act: () => unknown): void
  /** Nothing is to be done any more. */
  clear(): void
}

export function scriptedWaypoint(): ScriptedWaypoint {
  let current: Waypoint = noWaypoint
  return {
    waypoint: (name) => current(name),
    when(name, act) {
      current = async (reached) => {
        if (reached !== name) return
        current = noWaypoint
        await act()
      }
    },
    clear() {
      current = noWaypoint
    },
  }
}
