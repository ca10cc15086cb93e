import {
  presentFound,
  TRANSFERS_PAGE_MAX,
  type TransferView,
  transferPage,
  transferQuery,
} from '../api/operator/transfer-rows.ts'
import { transferStates } from '../domain/booked-transfer.ts'
import { listTransfers, transfersBy } from '../store/transfers/list.ts'
import { type Command, type CommandCall, CommandRefusal, type Option, operatorOptions, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'
import type { Style, Terminal } from './terminal.ts'

type Page = { readonly transfers: readonly TransferView[]; readonly next: string | null }
type Query = Readonly<Record<string, string>>

const LIMIT = 20
const filters: Readonly<Record<string, Option>> = {
  state: { value: 'state', about: `only this state: open, all, ${transferStates.join(', ')}` },
  rail: { value: 'rail', about: 'only what came by this protocol' },
}

export const transfersCommand: Command = {
  args: '',
  about:
    'Lists money that reached the shop without a purchase, newest first; what is not decided yet, unless told otherwise. `held` waits for a\nperson: `sutler transfers refund` sends it back, `sutler transfers keep` keeps it.',
  options: {
    ...operatorOptions,
    ...filters,
    cursor: { value: 'cursor', about: 'the next page: what the page before it ended with' },
    limit: { value: 'n', about: `how many, ${LIMIT} unless told` },
  },
  examples: [
    ['sutler transfers', 'is somebody else’s money here?'],
    ['sutler transfers list --state all', 'whatever ever came without a purchase'],
  ],
  async run(call) {
    const cursor = call.option('cursor')
    const limit = limitOf(call.option('limit'))
    const page = await readPage(call, { ...queryOf(call), limit, ...(cursor === undefined ? {} : { cursor }) })
    return { json: { ...page }, text: listText(page, call.terminal) }
  },
}

export const showTransfers: Command = {
  args: '<transfer>',
  about:
    'Shows money that came without a purchase: by its id, its transaction, the transaction that sent it back, or the order that had given\nit up.',
  options: operatorOptions,
  examples: [['sutler transfers show 0x52c7…', 'what became of this payment?']],
  async run(call) {
    const [reference = ''] = call.args
    const transfers = await findTransfers(call, reference)
    if (transfers.length === 0) throw new CommandRefusal('order_not_found', `there is no transfer ${reference}`)
    return { json: { transfers }, text: transfers.map((one) => transferText(one, call.terminal)).join('\n\n') }
  },
}

/** Empty when nothing goes by that name. */
export function findTransfers(call: CommandCall, reference: string): Promise<readonly TransferView[]> {
  return readShopOrStore(
    call,
    async (client) => {
      const path = `/operator/transfers/${encodeURIComponent(reference)}`
      return (await client.get<Page>(path).catch(nothingThere)).transfers
    },
    async (database) => (await transfersBy(database, reference)).map(presentFound),
  )
}

function nothingThere(error: unknown): Page {
  if (error instanceof CommandRefusal && error.code === 'order_not_found') return { transfers: [], next: null }
  throw error
}

export const refundTransfers = decision('refund', {
  about:
    'Sends money that came without a purchase back to where it came from, in full. One after the other, each told; what is refused is\nleft as it is. The name of the payment is taken first: it buys nothing any more.',
  example: 'they were sent by mistake',
})

export const keepTransfers = decision('keep', {
  about:
    'Keeps money that came without a purchase: somebody topped up the till, or its payer was helped otherwise. Whoever asks for the payment\nreads that the operator decided so. A decision is final.',
  example: 'our own money, from a wallet the shop does not know',
})

function decision(word: 'refund' | 'keep', { about, example }: { about: string; example: string }): Command {
  return {
    args: '[transfer…]',
    about,
    options: {
      ...operatorOptions,
      ...filters,
      all: { about: 'all that --state and --rail name; without them all that are held' },
      by: { value: 'name', about: 'who decided it; kept with the decision' },
    },
    examples: [
      [`sutler transfers ${word} trf_4w5k… trf_9q2m… --by mara`, example],
      [`sutler transfers ${word} --all --by mara`, 'everything that is held'],
    ],
    run: (call) => decideAll(call, word),
  }
}

type Decided = {
  readonly transferId: string
  readonly status: string
  readonly detail: string
  readonly isDone: boolean
}

async function decideAll(call: CommandCall, word: 'refund' | 'keep') {
  const isAll = call.flag('all')
  if (isAll === call.args.length > 0)
    throw new UsageFault(
      isAll ? '--all and single transfers exclude each other' : 'name transfers, or give --all',
      `transfers ${word}`,
    )
  const by = call.option('by')
  const decided: Decided[] = []
  for await (const id of isAll ? heldTransfers(call) : call.args) {
    const one = await decideOne(call, id, { decision: word, ...(by === undefined ? {} : { by }) })
    call.terminal.note(`${one.transferId}  ${one.status}${one.detail === '' ? '' : `: ${one.detail}`}`)
    decided.push(one)
  }
  const done = decided.filter(({ isDone }) => isDone).length
  const left = decided.length - done
  const text = decided.length === 0 ? 'nothing is held' : `${done} decided${left === 0 ? '' : `, ${left} refused`}`
  return { json: { decided }, text, isGood: left === 0 }
}

/** What is decided leaves the list, and what is refused stays in it: the pages go on behind both. */
async function* heldTransfers(call: CommandCall): AsyncGenerator<string> {
  const wanted: Query = { state: 'held', ...queryOf(call), limit: String(TRANSFERS_PAGE_MAX) }
  for (let next: string | null = ''; next !== null; ) {
    const page: Page = await readPage(call, next === '' ? wanted : { ...wanted, cursor: next })
    for (const { transferId } of page.transfers) yield transferId
    next = page.next
  }
}

async function decideOne(call: CommandCall, id: string, body: { decision: string; by?: string }): Promise<Decided> {
  try {
    const path = `/operator/transfers/${encodeURIComponent(id)}`
    const { status, refund } = await operatorClient(call).post<
      Pick<TransferView, 'status'> & { refund: { transaction: string | null } | null }
    >(path, body)
    return { transferId: id, status, detail: refund?.transaction ?? '', isDone: true }
  } catch (error) {
    if (!(error instanceof CommandRefusal) || !['refund_refused', 'order_not_found'].includes(error.code)) throw error
    return { transferId: id, status: 'refused', detail: error.message, isDone: false }
  }
}

function readPage(call: CommandCall, query: Query): Promise<Page> {
  return readShopOrStore<Page>(
    call,
    (client) => client.get<Page>(`/operator/transfers?${new URLSearchParams(query)}`),
    (database) =>
      transferPage(
        {
          listTransfers: (filter) => listTransfers(database, filter),
          transfersBy: (reference) => transfersBy(database, reference),
        },
        transferQuery.parse(query),
      ),
  )
}

function queryOf(call: CommandCall): Query {
  const [state, rail] = [call.option('state'), call.option('rail')]
  if (state !== undefined && ![...transferStates, 'open', 'all'].includes(state))
    throw new UsageFault(`${state} is not a state; there are open, all, ${transferStates.join(', ')}`, 'transfers list')
  return { ...(state === undefined ? {} : { state }), ...(rail === undefined ? {} : { rail }) }
}

function limitOf(text = String(LIMIT)): string {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= TRANSFERS_PAGE_MAX) return text
  throw new UsageFault(`a limit is 1 to ${TRANSFERS_PAGE_MAX}`, 'transfers list')
}

function listText({ transfers, next }: Page, { style, table }: Terminal): string {
  if (transfers.length === 0) return 'there is no such money'
  const rows = transfers.map(({ transferId, status, amount, currency, payer, foundAt }) => [
    foundAt.slice(0, 16).replace('T', ' '),
    transferId,
    painted(status, style),
    `${amount} ${currency ?? ''}`.trimEnd(),
    `${payer.slice(0, 4)}…${payer.slice(-4)}`,
  ])
  const head = ['UTC', 'ARRIVAL', 'STATE', 'AMOUNT', 'FROM'].map(style.dim)
  return [table([head, ...rows]), ...(next === null ? [] : ['', style.dim(`more: --cursor ${next}`)])].join('\n')
}

export function transferText(one: TransferView, { style, table }: Terminal): string {
  const facts: readonly (readonly [string, string | null])[] = [
    ['amount', `${one.amount} ${one.currency ?? one.asset} on ${one.network}, to ${one.payTo}`],
    ['from', one.payer],
    ['payment', `${one.paymentTx}, block ${one.blockNumber}`],
    ['found', one.foundAt],
    ['why', one.reason],
    ['order', one.orderId],
    ['decided', one.decidedBy && `by ${one.decidedBy}`],
    ['refund', one.refund && `${one.refund['transaction'] ?? 'on its way'}`],
  ]
  const shown = facts.flatMap(([what, value]) => (value === null ? [] : [[`  ${style.dim(what)}`, value]]))
  return [
    `${style.bold(one.transferId)}  ${painted(one.status, style)}  ${style.dim('money without a purchase')}`,
    table(shown),
  ].join('\n')
}

function painted(status: string, style: Style): string {
  if (status === 'held') return style.red(status)
  return ['refunded', 'kept', 'matched'].includes(status) ? style.green(status) : style.yellow(status)
}
