import type { Database } from '../store/db.ts'
import { hasUnplaced, placeEvents } from '../store/events.ts'
import { fanOut } from '../store/webhooks/deliveries.ts'

const BATCH = 500

/**
 * Gives events their place in the log and queues them for the endpoints, both in one transaction: killed anywhere, either both happened
 * or neither did. Any replica may do it at any time. Returns how many were placed.
 */
export async function pumpEvents(db: Database): Promise<number> {
  let placed = 0
  while (await hasUnplaced(db)) {
    const range = await db.transaction(async (tx) => {
      const range = await placeEvents(tx, BATCH)
      if (range) await fanOut(tx, range)
      return range
    })
    // Another replica was faster.
    if (range === null) break
    placed += Number(range.last - range.first) + 1
  }
  return placed
}
