import type { JsonObject } from '../base/json.ts'
import { type Command, operatorOptions } from './command.ts'
import { operatorClient } from './shop-client.ts'

type ApprovalView = JsonObject & {
  readonly id: string
  readonly state: string
  readonly subject: { readonly type: string; readonly id: string }
  readonly amount: string
  readonly currency: string | null
  readonly to: string | null
  readonly reason: string | null
  readonly by: string
  readonly expiresAt: string
}

export const listApprovalsCommand: Command = {
  args: '',
  about:
    'Lists refunds that wait for a second person (SUTLER_SECOND_PERSON_FROM). One operator has asked; any other of role support or admin may\napprove.',
  options: operatorOptions,
  examples: [['sutler approvals', 'does somebody wait for me?']],
  async run(call) {
    const answer = await operatorClient(call).get<JsonObject & { approvals: ApprovalView[] }>('/operator/approvals')
    const { table, style } = call.terminal
    const rows = answer.approvals.map(({ id, amount, currency, to, subject, by, reason }) => [
      id,
      `${amount} ${currency ?? ''}`,
      `to ${to ?? '?'}`,
      `${subject.type} ${subject.id}`,
      `asked by ${by}`,
      reason ?? '',
    ])
    return { json: answer, text: rows.length === 0 ? style.dim('nothing waits for a second person') : table(rows) }
  },
}

export const approveRefund = decision('approve', {
  about: 'Approves a refund that another operator asked for. It begins at once, and both names are kept with it.',
  done: 'is approved, and the money is on its way',
})

export const refuseRefund = decision('refuse', {
  about:
    'Refuses a refund that another operator asked for, or takes back what you asked for yourself. No money is sent.',
  done: 'is refused; no money was sent',
})

function decision(word: 'approve' | 'refuse', { about, done }: { about: string; done: string }): Command {
  return {
    args: '<approval>',
    about,
    options: operatorOptions,
    examples: [[`sutler approvals ${word} apv_4w5k…`, 'as `sutler approvals` lists it']],
    async run(call) {
      const [id = ''] = call.args
      const answer = await operatorClient(call).post(`/operator/approvals/${encodeURIComponent(id)}/${word}`)
      return { json: answer, text: `${id} ${done}` }
    },
  }
}
