import type { JsonObject } from '../base/json.ts'
import { formatUsd, usd } from '../base/money.ts'
import { type Command, operatorOptions } from './command.ts'
import { operatorClient } from './shop-client.ts'
import type { Terminal } from './terminal.ts'

type AccountView = JsonObject & {
  readonly account: string
  readonly network: string
  readonly payTo: string
  readonly currency: string
  readonly blocks: { readonly from: string; readonly to: string }
  readonly arrived: { readonly count: number; readonly amount: string }
  readonly difference: string
  readonly items: readonly {
    readonly kind: string
    readonly id: string
    readonly transaction: string
    readonly amount: string
    readonly detail: string
  }[]
}

export const reconcileCommand: Command = {
  args: '',
  about:
    'Compares, for each recipient, the transfers on the chain with the books, and names every difference: money without a purchase,\npurchases whose payment the chain dropped. The shop does this by itself every minute; this does it now and shows the result.\nExit code 1 when something is left to explain.',
  options: operatorOptions,
  examples: [['sutler reconcile', 'do chain and books agree?']],
  async run(call) {
    call.terminal.note(call.terminal.style.dim('reading the chains since the last look'))
    const { accounts } = await operatorClient(call).post<{ accounts: AccountView[] }>('/operator/reconcile')
    const isEven = accounts.every(({ difference, items }) => difference === '0' && items.length === 0)
    return {
      json: { accounts },
      text: accounts.map((one) => accountText(one, call.terminal)).join('\n\n'),
      isGood: isEven,
    }
  },
}

function accountText(
  { network, payTo, currency, blocks, arrived, difference, items }: AccountView,
  terminal: Terminal,
) {
  const { style, table } = terminal
  const money = (atomic: string) => `${formatUsd(usd(BigInt(atomic)))} ${currency}`
  const apart = difference.startsWith('-') ? `-${money(difference.slice(1))}` : money(difference)
  const verdict = items.length === 0 ? style.green('agrees with the books') : style.yellow(`differs by ${apart}`)
  return [
    `${style.bold(network)} ${payTo}: ${verdict}`,
    `  blocks ${blocks.from} to ${blocks.to}: ${arrived.count} transfers, ${money(arrived.amount)}`,
    ...(items.length === 0
      ? []
      : [
          table(
            items.map(({ kind, id, transaction, amount, detail }) => [
              `  ${kind}`,
              money(amount),
              id,
              transaction,
              detail,
            ]),
          ),
        ]),
  ].join('\n')
}
