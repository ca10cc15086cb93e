import { doubtTills } from '../store/tills/till-trust.ts'
import type { Command } from './command.ts'
import { storeConfigOf, withStore } from './store-access.ts'

export const restored: Command = {
  args: '',
  about:
    'Says that the store was put back to an earlier moment, so that money whose order it may have forgotten is neither spent again nor\nsent back by itself: the next start holds it until a person has decided. Run it while the shop is stopped, after the store was put\nback. A dump and a copied data folder are noticed without it; a snapshot of a disk cannot be told from a power failure.',
  options: {},
  examples: [['sutler restored', 'after a disk was taken back to a snapshot, before `sutler start`']],
  async run(call) {
    return withStore(storeConfigOf(call.env), async (database) => {
      const tills = await doubtTills(database)
      return {
        json: { store: database.description, tills: [...tills] },
        text:
          tills.length === 0
            ? `${database.description} was never sold from; there is nothing to be held`
            : `${database.description} counts as put back: the next start holds money without an order at ${tills.length} recipients.\nStart the shop, and see what is held: sutler reconcile`,
      }
    })
  },
}
