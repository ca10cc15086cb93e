import type { Decision } from '../api/operator/order-rows.ts'
import type { OrderStatus } from '../domain/order.ts'
import { type Command, operatorOptions, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'

const words = ['delivered', 'not-delivered']

export const decideOrder: Command = {
  args: '<order> <delivered|not-delivered>',
  about: [
    "A studio's own game backend may be unable to say whether it delivered (the log has an error with the code delivery_unknown). The shop then",
    'neither delivers again nor gives the money back: somebody has to look into the game, and says here what they found. `delivered` ends the',
    'purchase as confirmed; `not-delivered` sends the money back. A decision is final, and kept with the name of whoever made it. <order> is the order id.',
  ].join('\n'),
  options: { ...operatorOptions, by: { value: 'name', about: 'who found it out; must be given' } },
  examples: [
    ['sutler orders decide ord_4w5k… delivered --by mara', 'Mara saw the item in the inventory'],
    ['sutler orders decide ord_4w5k… not-delivered --by mara', 'it is not there; the money goes back'],
  ],
  async run(call) {
    const [reference = '', word = ''] = call.args
    const by = call.option('by')
    if (!words.includes(word)) throw new UsageFault(`${word} is neither delivered nor not-delivered`, 'orders decide')
    if (by === undefined) throw new UsageFault('say with --by who found it out', 'orders decide')
    const path = `/operator/orders/${encodeURIComponent(reference)}/decide`
    const answer = await operatorClient(call).post<{ orderId: string; status: OrderStatus; decision: Decision }>(path, {
      outcome: word.replace('-', '_'),
      by,
    })
    const { orderId, status, decision } = answer
    return {
      json: { ...answer },
      text: `${orderId} ${sentences[decision](word, status)}`,
      isGood: decision === 'taken',
    }
  },
}

const sentences: Readonly<Record<Decision, (word: string, status: OrderStatus) => string>> = {
  taken: (word) => `counts as ${word}, and is taken up now`,
  too_early: () => 'is not in doubt yet: the request may still reach the game; ask again in two minutes',
  nothing_to_decide: (_, status) => `is ${status}; there is no delivery of it to decide about`,
}
