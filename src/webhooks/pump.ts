import type { Database } from '../store/db.ts'
import { placeEvents } from '../store/webhooks/placing.ts'

const BATCH = 500

/**
 * Gives events their place in the log and queues them for the endpoints, both in one statement: killed anywhere, either both happened or
 * neither did. Any replica may do it at any time. Returns how many were placed.
 */
export async function pumpEvents(db: Database): Promise<number> {
  let sum = 0
  for (;;) {
    const placed = await placeEvents(db, BATCH)
    sum += placed
    if (placed < BATCH) return sum
  }
}
