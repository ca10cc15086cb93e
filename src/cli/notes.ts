import type { TimelineView } from '../api/operator/order-timeline.ts'
import { type Command, operatorOptions } from './command.ts'
import { operatorClient } from './shop-client.ts'

export const notesCommand: Command = {
  args: '<order> [text]',
  about:
    'Shows what operators wrote beside a purchase, or writes something there for whoever looks next. The buyer does not see it.\n<order> is whatever names it, as with `sutler orders show`.',
  options: operatorOptions,
  examples: [
    ['sutler notes ord_4w5k…', 'what do we know?'],
    ['sutler notes ord_4w5k… "Wrote to the player, waits for an answer"', 'for the next shift'],
  ],
  async run(call) {
    const [order = '', text] = call.args
    const client = operatorClient(call)
    const read = (name: string) => client.get<TimelineView>(`/operator/orders/${encodeURIComponent(name)}`)
    const found = await read(order)
    const { orderId } = found.order
    if (text !== undefined) await client.post(`/operator/orders/${orderId}/notes`, { text })
    const { notes } = text === undefined ? found : await read(orderId)
    const { table, style } = call.terminal
    const rows = notes.map(({ at, by, text }) => [at, by, text])
    return { json: { notes }, text: rows.length === 0 ? style.dim('nobody wrote anything') : table(rows) }
  },
}
