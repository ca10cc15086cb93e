import { isoTime } from '../base/clock.ts'
import { acceptStore } from '../store/history.ts'
import type { Command } from './command.ts'
import { storeConfigOf, withStore } from './store-access.ts'

export const restored: Command = {
  args: '',
  about:
    'Says that the store was restored, so that the shop sells from it. What was asked for before buys nothing, and money that came\nbefore without an order is held until a person has decided. Run it after every restore, and after a failover to a standby that may lack\npurchases. A restore into the same database is noticed by nothing else.',
  options: {
    complete: { about: 'nothing is missing: the shop was stopped, and all of its store was moved' },
  },
  examples: [
    ['sutler restored', 'after a backup was restored, before `sutler start`'],
    ['sutler restored --complete', 'after the store was moved to another server'],
  ],
  async run(call) {
    const isComplete = call.flag('complete')
    return withStore(storeConfigOf(call.env), async (database) => {
      const at = await acceptStore(database, { isComplete })
      return {
        json: { store: database.description, restoredAt: at === 0 ? null : isoTime(at) },
        text: isComplete
          ? `${database.description} counts as complete; the shop sells from it`
          : `${database.description} counts as restored at ${isoTime(at)}\nStart the shop, and see what is held: sutler reconcile`,
      }
    })
  },
}
