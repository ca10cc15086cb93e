import type { JsonObject } from '../base/json.ts'
import { listShelf } from '../store/game/shelf.ts'
import { type Command, type CommandCall, operatorOptions, UsageFault } from './command.ts'
import type { Output } from './output.ts'
import { membersOf, type Said, said, typed, windowTerms, windowText, withLineThatWorks } from './said-options.ts'
import { operatorClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'
import { byOf, byOption, exportCommand, importCommand, type Table } from './table-file.ts'
import type { Terminal } from './terminal.ts'

type ItemView = JsonObject & {
  readonly id: string
  readonly name: string
  readonly price: string
  readonly supply: number | null
  readonly left: number | null
  readonly delivered: number
  readonly limitPerPlayer: number | null
  readonly levelMin: number
  readonly opensAt: string | null
  readonly closesAt: string | null
  readonly hidden: boolean
  readonly did?: 'added' | 'changed' | 'nothing'
}

const terms: Readonly<Record<string, Said>> = {
  name: said('name', typed.text, { value: 'text', example: 'Torch', about: 'what people call it' }),
  price: said('price', typed.text, { value: 'dollars', example: '1.50', about: 'for one piece, such as 1.50' }),
  description: said('description', typed.text, {
    value: 'text',
    example: 'Burns for an hour.',
    about: 'one or two sentences',
  }),
  stock: said('stock', typed.whole, {
    value: 'n',
    example: '100',
    about: 'how many are left to sell; endless: no end to it',
  }),
  supply: said('supply', typed.whole, {
    value: 'n',
    example: '100',
    about: 'the same, counted with what was delivered; sales do not change it',
  }),
  limit: said('limitPerPlayer', typed.whole, {
    value: 'n',
    example: '5',
    about: 'how many one player may buy; none: as many as there are',
  }),
  level: said('levelMin', typed.whole, { value: 'n', example: '1', about: 'the level that a player needs' }),
  ...windowTerms,
  picture: said('picture', typed.optional, {
    value: 'url',
    example: 'https://example.com/torch.png',
    about: 'where it can be seen; none: nowhere',
  }),
}

const settings = { ...operatorOptions, ...terms, ...byOption }

const LIVE =
  'It is so on every replica within two seconds. Whoever was quoted another price pays that one until the quote ends.'

export const listItems: Command = {
  args: '',
  about:
    "Lists the items of the embedded game, hidden ones among them. With a studio's own backend the items are the studio's business, and\nthe shop keeps none.",
  options: operatorOptions,
  examples: [['sutler items', 'what is on the shelf?']],
  async run(call) {
    const items = await readShopOrStore(
      call,
      async (client) => (await client.get<{ items: ItemView[] }>('/operator/items')).items,
      async (database) => {
        // Only here: every other command would wait for it too.
        const { presentShelfItem } = await import('../api/operator/item-rows.ts')
        return (await listShelf(database)).map(presentShelfItem) as ItemView[]
      },
    )
    return { json: { items }, text: itemsText(items, call.terminal) }
  },
}

export const addItem: Command = {
  args: '<id>',
  about: `Puts a new item on the shelf. It needs a name and a price; without --stock there is no end to it. ${LIVE}`,
  options: settings,
  examples: [
    ['sutler items add torch:1 --name Torch --price 1.50 --by mara', 'a torch, as many as are wanted'],
    ['sutler items add crown:1 --name Crown --price 99 --stock 10 --limit 1 --level 20', 'ten crowns, one for each'],
  ],
  run: (call) => set(call, 'items add', '/operator/items', { id: call.args[0] ?? '' }),
}

export const changeItem: Command = {
  args: '<id>',
  about: `Changes an item; what is not named stays as it is. ${LIVE}`,
  options: settings,
  examples: [
    ['sutler items change torch:1 --price 1.25 --by mara', 'another price'],
    ['sutler items change torch:1 --stock endless --limit none', 'no end to it, and no limit'],
  ],
  async run(call) {
    if (Object.keys(membersOf(call, terms)).length === 0)
      throw new UsageFault('say what to change, for example --price 1.25', 'items change')
    return set(call, 'items change', pathOf(call), {})
  },
}

export const hideItem: Command = {
  args: '<id>',
  about:
    'Takes an item off the shelf: it is neither listed nor sold any more, on every replica at once. What was paid for is delivered all\nthe same. `sutler items show` puts it back as it was.',
  options: { ...operatorOptions, ...byOption },
  examples: [['sutler items hide torch:1 --by mara', 'stop selling it now']],
  run: (call) => put(call, { hidden: true }),
}

export const showItem: Command = {
  args: '<id>',
  about: 'Puts an item that was hidden back on the shelf, with the price, stock and limits that it had.',
  options: { ...operatorOptions, ...byOption },
  examples: [['sutler items show torch:1 --by mara', 'sell it again']],
  run: (call) => put(call, { hidden: false }),
}

const table: Table = {
  noun: 'items',
  path: '/operator/items.csv',
  about: {
    import: [
      'Adds and changes items by a table, whose first line names its columns (`sutler items export` shows all of them; id is enough beside',
      'what is to be changed). All lines or none: what is wrong is told line by line, and then nothing was changed. It may be repeated.',
      'Items that are not in the table stay as they are, and so does whatever has no column.',
    ].join('\n'),
    export: [
      'Prints the shelf as CSV. `supply` counts what was delivered too, so that a table which is imported later puts nothing back that was',
      'sold since; `delivered` and `left` are told and not read. What a spreadsheet would take for a formula is guarded by an apostrophe.',
    ].join('\n'),
  },
}

export const importItems = importCommand(table)
export const exportItems = exportCommand(table)

function set(call: CommandCall, command: string, path: string, more: JsonObject): Promise<Output> {
  return withLineThatWorks(call, { command, options: terms, others: ['by'] }, () =>
    send(call, path, { ...membersOf(call, terms), ...more }),
  )
}

function put(call: CommandCall, change: JsonObject): Promise<Output> {
  return send(call, pathOf(call), change)
}

async function send(call: CommandCall, path: string, change: JsonObject): Promise<Output> {
  const item = await operatorClient(call).post<ItemView>(path, { ...change, ...byOf(call) })
  const happened = item.did === 'nothing' ? 'is as it was' : item.hidden ? 'is hidden' : 'is on the shelf'
  return { json: item, text: `${item.id} ${happened}\n${itemsText([item], call.terminal)}` }
}

function pathOf({ args }: CommandCall): string {
  return `/operator/items/${encodeURIComponent(args[0] ?? '')}`
}

function itemsText(items: readonly ItemView[], { table, style }: Terminal): string {
  if (items.length === 0)
    return style.dim('the shelf is empty; for example: sutler items add torch:1 --name Torch --price 1.50')
  const head = ['ID', 'NAME', 'PRICE', 'LEFT', 'DELIVERED', 'LIMIT', 'LEVEL', 'WINDOW', ''].map(style.dim)
  const rows = items.map((item) => [
    item.id,
    item.name,
    item.price,
    item.left === null ? 'endless' : String(item.left),
    String(item.delivered),
    String(item.limitPerPlayer ?? '–'),
    String(item.levelMin),
    windowText(item),
    item.hidden ? style.yellow('hidden') : '',
  ])
  return table([head, ...rows])
}
