import type { JsonObject } from '../base/json.ts'
import { type Command, operatorOptions, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'
import { byOf, byOption, exportCommand, importCommand, type Table } from './table-file.ts'

type DiscountView = JsonObject & {
  readonly itemId: string
  readonly nickname: string
  readonly percent: number
  readonly did?: 'changed' | 'nothing'
}

export const discountItem: Command = {
  args: '[id] [nickname] [percent]',
  about:
    'Gives one player a discount on one item, in per cent; 0 takes it back. Without anything it lists the discounts there are. Whoever was\nquoted another price pays that one until the quote ends.',
  options: { ...operatorOptions, ...byOption },
  examples: [
    ['sutler items discount torch:1 Ada 15 --by mara', 'Ada pays 15 per cent less for a torch'],
    ['sutler items discount torch:1 Ada 0 --by mara', 'and the full price again'],
    ['sutler items discount', 'who pays less for what?'],
  ],
  async run(call) {
    const [itemId, nickname, percent] = call.args
    const { style, table } = call.terminal
    if (itemId === undefined) {
      const answer = await operatorClient(call).get<{ discounts: DiscountView[] }>('/operator/discounts')
      const rows = answer.discounts.map((one) => [one.itemId, one.nickname, `${one.percent} % less`])
      return { json: answer, text: rows.length === 0 ? style.dim('there are no discounts') : table(rows) }
    }
    if (nickname === undefined || percent === undefined || !/^\d+(\.\d+)?$/.test(percent))
      throw new UsageFault(
        `say who and how many per cent, for example: sutler items discount ${itemId} Ada 15`,
        'items discount',
      )
    const request = { itemId, nickname, percent: Number(percent), ...byOf(call) }
    const view = await operatorClient(call).post<DiscountView>('/operator/discounts', request)
    const how = view.did === 'nothing' ? 'pays as before' : 'pays'
    const text = view.percent === 0 ? 'the full price' : `${view.percent} per cent less`
    return { json: view, text: `${view.nickname} ${how}: ${text} for ${view.itemId}` }
  },
}

const table: Table = {
  noun: 'discounts',
  path: '/operator/discounts.csv',
  about: {
    import: [
      'Gives discounts by a table with the columns item, player and percent; 0 takes one back. All lines or none: what is wrong is told line by',
      'line, and then nothing was changed. It may be repeated. Discounts that are not in the table stay as they are.',
    ].join('\n'),
    export: 'Prints who pays less for what as CSV, as `sutler discounts import` takes it.',
  },
}

export const importDiscounts = importCommand(table)
export const exportDiscounts = exportCommand(table)
