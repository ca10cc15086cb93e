import type { JsonObject } from '../base/json.ts'
import { formatUsd } from '../base/money.ts'
import { readGoodPrices } from '../store/good-prices.ts'
import { type Command, CommandRefusal, operatorOptions } from './command.ts'
import { operatorClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'
import { byOf, byOption, exportCommand, importCommand, type Table } from './table-file.ts'
import type { Terminal } from './terminal.ts'

type PriceView = JsonObject & {
  readonly good: string
  readonly price: string
  /** The program's own; only a running shop knows it. */
  readonly usual?: string
  readonly surface?: string
  readonly protocols?: readonly string[]
  readonly did?: 'changed' | 'nothing'
}

export const listPrices: Command = {
  args: '',
  about:
    'Lists the goods that cost everybody the same and lie on no shelf: health probe, transaction report, player look-up and craft actions.\nWhile the shop is down, only prices that were set are known.',
  options: operatorOptions,
  examples: [['sutler prices', 'what do they cost?']],
  async run(call) {
    const prices = await readShopOrStore(
      call,
      async (client) => (await client.get<{ prices: PriceView[] }>('/operator/prices')).prices,
      async (database): Promise<PriceView[]> =>
        [...(await readGoodPrices(database))].map(([good, price]) => ({ good, price: formatUsd(price) })),
    )
    return { json: { prices }, text: pricesText(prices, call.terminal) }
  },
}

export const changePrice: Command = {
  args: '<good> <price|usual>',
  about:
    'Sets what a good costs, in dollars, or takes it back to the usual price. It is so on every replica within two seconds, in all documents\ntoo. Whoever was asked for another price pays that one until the challenge ends.',
  options: { ...operatorOptions, ...byOption },
  examples: [
    ['sutler prices change playerLookup 0.05 --by mara', 'a look-up costs five cents'],
    ['sutler prices change playerLookup usual --by mara', 'and again what it always did'],
  ],
  async run(call) {
    const [good = '', price = ''] = call.args
    const request = { price: price === 'usual' ? null : price, ...byOf(call) }
    const path = `/operator/prices/${encodeURIComponent(good)}`
    const view = await operatorClient(call)
      .post<PriceView>(path, request)
      .catch((error) => {
        if (!(error instanceof CommandRefusal) || !error.wrong.some(({ member }) => member === 'price')) throw error
        const works = `this would work: sutler prices change ${good} 0.05`
        throw new CommandRefusal(error.code, `${error.message.replace(/^\//, '')}; nothing was changed\n  ${works}`)
      })
    const how = view.did === 'nothing' ? 'costs what it did' : 'costs'
    return { json: view, text: `${view.good} ${how}: ${view.price} USD (usually ${view.usual})` }
  },
}

const table: Table = {
  noun: 'prices',
  path: '/operator/prices.csv',
  about: {
    import: [
      'Sets prices by a table with the columns good and price; an empty price is the usual one. All lines or none: what is wrong is told',
      'line by line, and then nothing was changed. It may be repeated, and what is not in the table stays as it is.',
    ].join('\n'),
    export:
      'Prints the prices of goods that lie on no shelf as CSV: good, price, and the usual price, which is told and not read.',
  },
}

export const importPrices = importCommand(table)
export const exportPrices = exportCommand(table)

function pricesText(prices: readonly PriceView[], { table, style }: Terminal): string {
  if (prices.length === 0) return style.dim('no price was set; start the shop to see the usual ones')
  const head = ['GOOD', 'PRICE', 'USUALLY', 'SURFACE', 'PAID BY'].map(style.dim)
  const rows = prices.map(({ good, price, usual = '?', surface = '', protocols = [] }) => [
    good,
    price === usual ? price : style.bold(price),
    usual,
    surface,
    protocols.join(', '),
  ])
  return table([head, ...rows])
}
