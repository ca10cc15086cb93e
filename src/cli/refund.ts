import type { JsonObject } from '../base/json.ts'
import { type Command, operatorOptions, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'

export const refund: Command = {
  args: '<order>',
  about:
    'Sends the whole amount of a delivered purchase back, in the asset and on the chain it came from, to the payer that was verified.\nNever twice, and never more than was paid. A purchase that cannot be delivered is refunded without anybody asking.',
  options: {
    ...operatorOptions,
    reason: { value: 'text', about: 'why; the buyer reads it' },
    by: { value: 'name', about: 'who decided it; kept with the refund' },
  },
  examples: [['sutler refund ord_4w5k… --reason "The pass came too late" --by mara', 'give the money back']],
  async run(call) {
    const [orderId = ''] = call.args
    const reason = call.option('reason')
    if (reason === undefined) throw new UsageFault('say why with --reason', 'refund')
    const by = call.option('by')
    const purchase = await operatorClient(call).post<
      JsonObject & { status: string; refund: { amount: string; to: string; transaction: string | null } }
    >(`/operator/orders/${encodeURIComponent(orderId)}/refund`, { reason, ...(by === undefined ? {} : { by }) })
    const { status, refund } = purchase
    const how = refund.transaction === null ? 'is on its way' : `was sent by ${refund.transaction}`
    return { json: purchase, text: `${orderId} ${status}: ${refund.amount} to ${refund.to} ${how}` }
  },
}
