/**
 * The steps of a purchase at which a process may die. Each is passed just before or just after an outside effect or a commit;
 * the crash tests kill a real server at every one of them. In production a waypoint does nothing.
 */
export const waypoints = [
  'order.opening',
  'order.opened',
  'settle.begun',
  'settle.done',
  'send.signed',
  'send.journaled',
  'send.broadcast',
  'send.mined',
  'order.settled',
  'deliver.begun',
  'deliver.done',
  'game.called',
  'game.answered',
  'order.submitted',
  'order.confirmed',
  'order.failed',
  'refund.created',
  'refund.done',
  'order.refunded',
  'order.expired',
  'answer.ready',
  'webhook.sent',
  'webhook.recorded',
] as const

export type WaypointName = (typeof waypoints)[number]

/** Called when a step is reached. It may throw, wait or end the process; only tests hand in one that does. */
export type Waypoint = (name: WaypointName) => void | Promise<void>

export const noWaypoint: Waypoint = () => {}
