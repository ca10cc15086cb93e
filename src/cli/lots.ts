import type { JsonObject } from '../base/json.ts'
import { type Command, type CommandCall, operatorOptions, UsageFault } from './command.ts'
import type { Output } from './output.ts'
import { membersOf, type Said, said, typed, windowText, withLineThatWorks } from './said-options.ts'
import { operatorClient } from './shop-client.ts'
import { byOf, byOption, exportCommand, importCommand, type Table } from './table-file.ts'
import type { Terminal } from './terminal.ts'

type LotView = JsonObject & {
  readonly saleId: number
  readonly state: string
  readonly name: string
  readonly price: string
  readonly supply: string
  readonly minted: string
  readonly left: string
  readonly opensAt: string | null
  readonly closesAt: string | null
  readonly note: { readonly name: string | null; readonly hidden: boolean }
  readonly did?: 'changed' | 'nothing'
}

const words: Readonly<Record<string, Said>> = {
  name: said('name', typed.optional, {
    value: 'text',
    example: 'Founders Charter',
    about: 'what the shop calls it; none: as the chain does',
  }),
  description: said('description', typed.optional, {
    value: 'text',
    example: 'One of fifty.',
    about: 'what the shop says of it; none: what its metadata says',
  }),
  picture: said('picture', typed.optional, {
    value: 'url',
    example: 'https://example.com/charter.png',
    about: 'where it can be seen; none: where its metadata says',
  }),
}

export const listLots: Command = {
  args: '',
  about:
    'Lists every lot of the sale contract, read from the chain now: price, supply, window and state. All of them are on offer, a new one\nwithin two seconds, but for those that are hidden or that SUTLER_SALE_IDS leaves out.',
  options: operatorOptions,
  examples: [['sutler lots', 'what does the contract sell?']],
  async run(call) {
    const answer = await operatorClient(call).get<{ contract: string; chainId: number; lots: LotView[] }>(
      '/operator/lots',
    )
    return { json: answer, text: lotsText(answer.lots, call.terminal) }
  },
}

export const hideLot: Command = {
  args: '<lot>',
  about:
    'Takes a lot off the shelf: it is neither listed nor sold any more, on every replica within two seconds. Nothing changes on the chain,\nand what was paid for is minted all the same. `sutler lots show` puts it back; `sutler contracts pause` stops the contract itself.',
  options: { ...operatorOptions, ...byOption },
  examples: [['sutler lots hide 391 --by mara', 'stop selling it now']],
  run: (call) => note(call, { hidden: true }),
}

export const showLot: Command = {
  args: '<lot>',
  about: 'Puts a lot that was hidden back on the shelf, at the price and in the window that it has on the chain.',
  options: { ...operatorOptions, ...byOption },
  examples: [['sutler lots show 391 --by mara', 'sell it again']],
  run: (call) => note(call, { hidden: false }),
}

export const describeLot: Command = {
  args: '<lot>',
  about:
    'Says of a lot what listings show: its name, a description, the address of a picture. The chain and the metadata of its tokens stay as\nthey are; what is not named stays as it is, and `none` goes back to what the chain says.',
  options: { ...operatorOptions, ...words, ...byOption },
  examples: [
    ['sutler lots describe 391 --name "Season Pass" --picture https://example.com/pass.png', 'other words'],
    ['sutler lots describe 391 --name none', 'the name on the chain again'],
  ],
  async run(call) {
    const change = membersOf(call, words)
    if (Object.keys(change).length === 0)
      throw new UsageFault('say what, for example --name "Season Pass"', 'lots describe')
    return withLineThatWorks(call, { command: 'lots describe', options: words, others: ['by'] }, () =>
      note(call, change),
    )
  },
}

const table: Table = {
  noun: 'lots',
  path: '/operator/lots.csv',
  about: {
    import: [
      'Describes, hides and shows lots by a table with the columns id, name, description, picture and hidden; an empty cell says what the',
      'chain says. All lines or none: what is wrong is told line by line, and then nothing was changed. It may be repeated. Price, supply',
      'and window are the chain’s: `sutler lots change` changes those.',
    ].join('\n'),
    export: 'Prints the lots as CSV: what the shop says of them, then what the chain says, which is told and not read.',
  },
}

export const importLots = importCommand(table)
export const exportLots = exportCommand(table)

async function note(call: CommandCall, change: JsonObject): Promise<Output> {
  const path = `/operator/lots/${encodeURIComponent(call.args[0] ?? '')}`
  const lot = await operatorClient(call).post<LotView>(path, { ...change, ...byOf(call) })
  const happened = lot.did === 'nothing' ? 'is as it was' : lot.note.hidden ? 'is hidden' : 'is on the shelf'
  return { json: lot, text: `lot ${lot.saleId} ${happened}\n${lotsText([lot], call.terminal)}` }
}

function lotsText(lots: readonly LotView[], { table, style }: Terminal): string {
  if (lots.length === 0) return style.dim('the contract has no lots; `sutler lots add --help` tells how to make one')
  const head = ['ID', 'NAME', 'PRICE', 'LEFT', 'MINTED', 'WINDOW', ''].map(style.dim)
  const rows = lots.map(({ saleId, name, price, left, minted, state, note, ...lot }) => [
    String(saleId),
    note.name ?? name,
    price,
    left,
    minted,
    windowText(lot),
    state === 'open' ? '' : style.yellow(state.replace('_', ' ')),
  ])
  return table([head, ...rows])
}
