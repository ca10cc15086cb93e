import {
  ARRIVALS_PAGE_MAX,
  type ArrivalView,
  arrivalPage,
  arrivalQuery,
  presentFound,
} from '../api/operator/arrival-rows.ts'
import { arrivalStates } from '../domain/till.ts'
import { arrivalsBy, listFound } from '../store/tills/arrival-list.ts'
import { type Command, type CommandCall, CommandRefusal, type Option, operatorOptions, UsageFault } from './command.ts'
import { operatorClient } from './shop-client.ts'
import { readShopOrStore } from './store-access.ts'
import type { Style, Terminal } from './terminal.ts'

type Page = { readonly arrivals: readonly ArrivalView[]; readonly next: string | null }
type Query = Readonly<Record<string, string>>

const LIMIT = 20
const filters: Readonly<Record<string, Option>> = {
  state: { value: 'state', about: `only this state: open, all, ${arrivalStates.join(', ')}` },
  rail: { value: 'rail', about: 'only what came by this protocol' },
}

export const arrivalsCommand: Command = {
  args: '',
  about:
    'Lists money that reached the shop without a purchase, newest first; what is not decided yet, unless told otherwise. `held` waits for a\nperson: `sutler arrivals refund` sends it back, `sutler arrivals keep` keeps it.',
  options: {
    ...operatorOptions,
    ...filters,
    cursor: { value: 'cursor', about: 'the next page: what the page before it ended with' },
    limit: { value: 'n', about: `how many, ${LIMIT} unless told` },
  },
  examples: [
    ['sutler arrivals', 'is somebody else’s money here?'],
    ['sutler arrivals list --state all', 'whatever ever came without a purchase'],
  ],
  async run(call) {
    const cursor = call.option('cursor')
    const limit = limitOf(call.option('limit'))
    const page = await readPage(call, { ...queryOf(call), limit, ...(cursor === undefined ? {} : { cursor }) })
    return { json: { ...page }, text: listText(page, call.terminal) }
  },
}

export const showArrival: Command = {
  args: '<arrival>',
  about:
    'Shows money that came without a purchase: by its id, its transaction, the transaction that sent it back, or the order that had given\nit up.',
  options: operatorOptions,
  examples: [['sutler arrivals show 0x52c7…', 'what became of this payment?']],
  async run(call) {
    const [reference = ''] = call.args
    const arrivals = await findArrivals(call, reference)
    if (arrivals.length === 0) throw new CommandRefusal('order_not_found', `there is no arrival ${reference}`)
    return { json: { arrivals }, text: arrivals.map((one) => arrivalText(one, call.terminal)).join('\n\n') }
  },
}

/** Empty when nothing goes by that name. */
export function findArrivals(call: CommandCall, reference: string): Promise<readonly ArrivalView[]> {
  return readShopOrStore(
    call,
    async (client) => {
      const path = `/operator/arrivals/${encodeURIComponent(reference)}`
      return (await client.get<Page>(path).catch(nothingThere)).arrivals
    },
    async (database) => (await arrivalsBy(database, reference)).map(presentFound),
  )
}

function nothingThere(error: unknown): Page {
  if (error instanceof CommandRefusal && error.code === 'order_not_found') return { arrivals: [], next: null }
  throw error
}

export const refundArrivals = decision('refund', {
  about:
    'Sends money that came without a purchase back to where it came from, in full. One after the other, each told; what is refused is\nleft as it is. The name of the payment is taken first: it buys nothing any more.',
  example: 'they were sent by mistake',
})

export const keepArrivals = decision('keep', {
  about:
    'Keeps money that came without a purchase: somebody topped up the till, or its payer was helped otherwise. Whoever asks for the payment\nreads that the operator decided so. A decision is final.',
  example: 'our own money, from a wallet the shop does not know',
})

function decision(word: 'refund' | 'keep', { about, example }: { about: string; example: string }): Command {
  return {
    args: '[arrival…]',
    about,
    options: {
      ...operatorOptions,
      ...filters,
      all: { about: 'all that --state and --rail name; without them all that are held' },
      by: { value: 'name', about: 'who decided it; kept with the decision' },
    },
    examples: [
      [`sutler arrivals ${word} arr_4w5k… arr_9q2m… --by mara`, example],
      [`sutler arrivals ${word} --all --by mara`, 'everything that is held'],
    ],
    run: (call) => decideAll(call, word),
  }
}

type Decided = {
  readonly arrivalId: string
  readonly status: string
  readonly detail: string
  readonly isDone: boolean
}

async function decideAll(call: CommandCall, word: 'refund' | 'keep') {
  const isAll = call.flag('all')
  if (isAll === call.args.length > 0)
    throw new UsageFault(
      isAll ? '--all and single arrivals exclude each other' : 'name arrivals, or give --all',
      `arrivals ${word}`,
    )
  const by = call.option('by')
  const decided: Decided[] = []
  for await (const id of isAll ? heldArrivals(call) : call.args) {
    const one = await decideOne(call, id, { decision: word, ...(by === undefined ? {} : { by }) })
    call.terminal.note(`${one.arrivalId}  ${one.status}${one.detail === '' ? '' : `: ${one.detail}`}`)
    decided.push(one)
  }
  const done = decided.filter(({ isDone }) => isDone).length
  const left = decided.length - done
  const text = decided.length === 0 ? 'nothing is held' : `${done} decided${left === 0 ? '' : `, ${left} refused`}`
  return { json: { decided }, text, isGood: left === 0 }
}

/** What is decided leaves the list, and what is refused stays in it: the pages go on behind both. */
async function* heldArrivals(call: CommandCall): AsyncGenerator<string> {
  const wanted: Query = { state: 'held', ...queryOf(call), limit: String(ARRIVALS_PAGE_MAX) }
  for (let next: string | null = ''; next !== null; ) {
    const page: Page = await readPage(call, next === '' ? wanted : { ...wanted, cursor: next })
    for (const { arrivalId } of page.arrivals) yield arrivalId
    next = page.next
  }
}

async function decideOne(call: CommandCall, id: string, body: { decision: string; by?: string }): Promise<Decided> {
  try {
    const path = `/operator/arrivals/${encodeURIComponent(id)}`
    const { status, refund } = await operatorClient(call).post<
      Pick<ArrivalView, 'status'> & { refund: { transaction: string | null } | null }
    >(path, body)
    return { arrivalId: id, status, detail: refund?.transaction ?? '', isDone: true }
  } catch (error) {
    if (!(error instanceof CommandRefusal) || !['refund_refused', 'order_not_found'].includes(error.code)) throw error
    return { arrivalId: id, status: 'refused', detail: error.message, isDone: false }
  }
}

function readPage(call: CommandCall, query: Query): Promise<Page> {
  return readShopOrStore<Page>(
    call,
    (client) => client.get<Page>(`/operator/arrivals?${new URLSearchParams(query)}`),
    (database) =>
      arrivalPage(
        {
          listArrivals: (filter) => listFound(database, filter),
          arrivalsBy: (reference) => arrivalsBy(database, reference),
        },
        arrivalQuery.parse(query),
      ),
  )
}

function queryOf(call: CommandCall): Query {
  const [state, rail] = [call.option('state'), call.option('rail')]
  if (state !== undefined && ![...arrivalStates, 'open', 'all'].includes(state))
    throw new UsageFault(`${state} is not a state; there are open, all, ${arrivalStates.join(', ')}`, 'arrivals list')
  return { ...(state === undefined ? {} : { state }), ...(rail === undefined ? {} : { rail }) }
}

function limitOf(text = String(LIMIT)): string {
  if (/^[1-9]\d{0,2}$/.test(text) && Number(text) <= ARRIVALS_PAGE_MAX) return text
  throw new UsageFault(`a limit is 1 to ${ARRIVALS_PAGE_MAX}`, 'arrivals list')
}

function listText({ arrivals, next }: Page, { style, table }: Terminal): string {
  if (arrivals.length === 0) return 'there is no such money'
  const rows = arrivals.map(({ arrivalId, status, amount, currency, payer, foundAt }) => [
    foundAt.slice(0, 16).replace('T', ' '),
    arrivalId,
    painted(status, style),
    `${amount} ${currency ?? ''}`.trimEnd(),
    `${payer.slice(0, 4)}…${payer.slice(-4)}`,
  ])
  const head = ['UTC', 'ARRIVAL', 'STATE', 'AMOUNT', 'FROM'].map(style.dim)
  return [table([head, ...rows]), ...(next === null ? [] : ['', style.dim(`more: --cursor ${next}`)])].join('\n')
}

export function arrivalText(one: ArrivalView, { style, table }: Terminal): string {
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
    `${style.bold(one.arrivalId)}  ${painted(one.status, style)}  ${style.dim('money without a purchase')}`,
    table(shown),
  ].join('\n')
}

function painted(status: string, style: Style): string {
  if (status === 'held') return style.red(status)
  return ['refunded', 'kept', 'matched'].includes(status) ? style.green(status) : style.yellow(status)
}
