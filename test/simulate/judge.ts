import type { Address } from '../../src/base/address.ts'
import { TRANSFER } from '../../src/chain/eip3009.ts'
import { isFinal, type OrderStatus } from '../../src/domain/order.ts'
import type { Database } from '../../src/store/db.ts'
import { statement } from '../../src/store/statement.ts'
import { isFinalAnswer } from './actors/payer.ts'
import type { Purchase } from './book.ts'
import { leastOf } from './books.ts'
import { word } from './goods.ts'
import { ledgerOf } from './ledger.ts'
import type { Universe } from './universe.ts'
import { VICTIM } from './world.ts'

type Row = {
  id: string
  status: OrderStatus
  good: string
  refunds: string[] | null
  /** The chain dropped its payment after it had counted, and people were told. */
  is_lost: boolean
}

const ORDERS = `
  select o.id, o.status, o.good, (select array_agg(r.requested_by) from refunds r where r.order_id = o.id) as refunds,
         exists (select from receiving_accounts a where o.id = any (a.missing)) as is_lost
  from orders o
  where lower(o.payer) = lower($1)`

/** Asks the chain, the game and whoever was told something what really happened; the books only whether they say the same. */
export async function judge(universe: Universe): Promise<readonly string[]> {
  const found: string[] = []
  for (const purchase of universe.purchases) found.push(...(await judgePurchase(universe, purchase)))
  found.push(...(await judgeEvents(universe)))
  found.push(...judgeReceiver(universe))
  found.push(...(await judgeVictim(universe)))
  const { game, blunders, excesses } = universe
  found.push(...excesses)
  if (blunders.length > 0) found.push(`a mistake of ours, ${blunders.length} times: ${blunders[0]}`)
  if (game && game.stock.left < 0) found.push(`sold more than there is: ${game.stock.left}`)
  return found
}

async function judgePurchase(universe: Universe, purchase: Purchase): Promise<readonly string[]> {
  const { store } = universe
  const { index, payer, good, way, carrier, credentials } = purchase
  const { paid, back, delivered } = await ledgerOf(universe, purchase)
  const { rows } = await store.db.query<Row>(ORDERS, [payer.address])
  const byHand = rows.filter(({ refunds }) => refunds?.some((by) => by !== 'automatic')).length
  const named = rows.filter(({ is_lost }) => is_lost).length
  // A payment that the chain dropped when it had been delivered for is named by nobody when the books are put back to before it.
  const undone = universe.wasRestored() ? Math.max(0, purchase.paidWhenGiven - paid.length) : 0
  const lost = Math.max(named, undone)
  const dust = await dustOf(store.db, payer.address)
  const told = [
    `payer${index} ${good.name} by ${way.name} over ${carrier}`,
    `paid ${paid.join('+') || 0}, delivered ${delivered}, sent back ${back.join('+') || 0}`,
    `orders ${rows.map(({ status }) => status).join(' ') || 'none'}`,
    `answers ${credentials.map(({ answers }) => answers.map(({ status }) => status).join(' ')).join(' | ') || 'none'}`,
  ].join('; ')
  const found: string[] = []
  const say = (kind: string) => found.push(`${kind}: ${told}`)
  const balance = delivered + back.length - paid.length
  const strays = purchase.strays
  if (paid.length > credentials.length + strays) say('charged without a payment')
  if (balance > byHand + lost) say(delivered > 0 && back.length > 0 ? 'delivered and sent back' : 'given without money')
  if (balance < -dust) say('paid for nothing')
  if (back.some((amount) => !paid.includes(amount)) && lost === 0) say('not sent back in full')
  // One that failed and has no money to send back waits for a person, for ever if need be.
  const mayStay = ({ status, is_lost }: Row) => status === 'failed' && is_lost
  if (rows.some((row) => !isFinal(row.status) && !mayStay(row))) say('stuck')
  if (purchase.canLand === false && rows.length > 0) say('kept goods for what can never land')
  for (const kind of judgeAnswers(purchase, { paid: paid.length, lost, delivered })) say(kind)
  if (hasTwoEnds(universe, purchase)) say('two answers to one payment')
  return found
}

type Ends = {
  readonly paid: number
  readonly lost: number
  readonly delivered: number
}

/** Whatever a payer heard last stays true for ever; what is delivered or failed was so at any time. */
function judgeAnswers(purchase: Purchase, { paid, lost, delivered }: Ends): readonly string[] {
  const { habit, credentials, strays, isShownAgain } = purchase
  const found: string[] = []
  const hasOpenEnd = isShownAgain && credentials.some((one) => one.hasEnd && !isFinalAnswer(one))
  if (hasOpenEnd) found.push('no end to be heard')
  const last = credentials.map(({ answers }) => answers.at(-1)).filter((answer) => answer !== undefined)
  const free = last.filter(({ status, taken }) => status === 402 || taken === false).length
  if (habit === 'honest' && paid > credentials.length - free) found.push('402 and taken')
  const taken = last.filter(({ taken }) => taken === true).length
  // What the chain dropped for good was taken when it was told; the books name it.
  if (taken > paid + lost + strays) found.push('told taken and was not')
  const confirmed = credentials.filter(({ answers }) => answers.some(({ status }) => status === 200)).length
  // What the chain dropped together with its payment is not handed over again.
  if (confirmed > delivered + lost) found.push('200 and not delivered')
  const all = credentials.flatMap(({ answers }) => answers)
  const failed = all.find(({ status }) => status === 500)
  if (failed) found.push(`500 ${failed.code}`)
  return found
}

/** A store that was put back writes the end of an open order anew: later, and of the same order. */
function hasTwoEnds({ wasRestored }: Universe, { credentials }: Purchase): boolean {
  const said = (text: string) => (wasRestored() ? /"orderId":"\w+"/.exec(text)?.[0] : text)
  return credentials.some(({ answers }) => {
    const ends = answers.filter(({ status }) => status === 200).map(({ text }) => said(text))
    return new Set(ends).size > 1
  })
}

/** Whoever only gave an allowance away, long ago, has bought nothing. */
async function judgeVictim({ world }: Universe): Promise<readonly string[]> {
  const { address, nfts } = world.payers[VICTIM]!
  const gone = await world.native.logs({ address: nfts[0]!.contract, topics: [TRANSFER, word(address)] })
  return gone.length > 0 ? [`acted for another: ${gone.length} tokens of the victim are gone`] : []
}

/** Money that bought nothing and is too little to be sent back. */
async function dustOf(db: Database, payer: Address): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    `select count(*)::int as count from transfers t where lower(sender) = lower($1) and state = 'unmatched' and amount < ${leastOf('t')}`,
    [payer],
  )
  return rows[0]!.count
}

/** Every object's changes are numbered from one, without a gap, and placed in that order. Those without a place yet are in any. */
async function judgeEvents({ store }: Universe): Promise<readonly string[]> {
  const { rows } = await store.db.query<{ subject: string }>(`
    select subject
    from (
      select subject, sequence, row_number() over (partition by subject order by sequence) as nth,
        row_number() over (partition by subject order by position, sequence) as placed
      from events
    ) as e
    group by subject
    having bool_or(sequence <> nth) or bool_or(placed <> nth)`)
  return rows.map(({ subject }) => `events with a gap or out of order: ${subject}`)
}

/** Repetitions are allowed; going back or leaving out is not. */
function judgeReceiver({ receiver }: Universe): readonly string[] {
  const heard = new Map<string, number>()
  const found: string[] = []
  for (const { url, subject, sequence, type } of receiver.log) {
    const lane = `${url} ${subject}`
    const last = heard.get(lane) ?? 0
    if (sequence > last + 1 && last > 0)
      found.push(`told out of order: ${type} ${sequence} of ${subject} after ${last}`)
    heard.set(lane, Math.max(last, sequence))
  }
  return found
}

/** Is anything under way that will end by itself? */
export async function isAtRest({ store }: Universe): Promise<boolean> {
  const { rows } = await store.db.query(OPEN)
  return rows[0]!.open === 0
}

// What the chain dropped may stay dropped, and then what failed has no money to send back.
const OPEN = statement<{ open: number }>(`
    select (
        select count(*)
        from orders o
        where o.status not in ('confirmed', 'refunded', 'expired')
          and not (o.status = 'failed' and exists (select from receiving_accounts a where o.id = any (a.missing))))::int
      + (
        select count(*)
        from transfers t
        left join refunds r on r.transfer_id = t.id
        where t.state = 'held'
          or (t.state = 'unmatched' and t.amount >= ${leastOf('t')})
          or (t.state = 'returned' and r.completed_at is null))::int as open`)
