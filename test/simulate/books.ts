import { TRANSFER } from '../../src/chain/eip3009.ts'
import type { Report } from './actors/operator.ts'
import { word } from './goods.ts'
import type { Universe } from './universe.ts'

const PATIENCE_MS = 60_000
/** Less than this is not sent back by itself. */
export const leastOf = (transfer: string) =>
  `(case when ${transfer}.account like 'eip155:84532/%' then 100000 else 1000 end)`

const BOOKED = `
  select coalesce(sum(amount), 0)::text as amount
  from (
    select amount from orders where network = $1 and payment_tx is not null
    union all
    select t.amount
    from transfers t
    left join refunds r on r.transfer_id = t.id
    where t.account like $1 || '/%'
      and (t.state = 'kept' or r.completed_at is not null or (t.state = 'unmatched' and t.amount < ${leastOf('t')}))
  ) as booked`

/** At rest, reconciliation names what the chain and the books differ by, and nothing else. */
export async function judgeBooks(universe: Universe): Promise<readonly string[]> {
  const { sim, operator } = universe
  let answer: { readonly reports: readonly Report[] | null } | null = null
  void operator.reconcile().then((reports) => {
    answer = { reports }
  })
  await sim.run(() => answer !== null, sim.now() + PATIENCE_MS)
  const reports = (answer as { readonly reports: readonly Report[] | null } | null)?.reports
  if (!reports) return ['reconciliation: no answer']
  const found: string[] = []
  for (const report of reports) found.push(...(await judgeReport(universe, report)))
  return found
}

async function judgeReport({ world, store }: Universe, report: Report): Promise<readonly string[]> {
  const { network, asset, payTo, difference, items } = report
  const chain = network.endsWith(`:${world.native.chainId}`) ? world.native : world.tempo
  const arrived = (await chain.logs({ address: asset, topics: [TRANSFER, null, word(payTo)] })).reduce(
    (total, { data }) => total + BigInt(data),
    0n,
  )
  const { rows } = await store.db.query<{ amount: string }>(BOOKED, [network])
  const found: string[] = []
  const truth = arrived - BigInt(rows[0]!.amount)
  if (truth !== BigInt(difference))
    found.push(`reconciliation: says ${difference} on ${network}, and it is ${truth} units`)
  // What the chain dropped stays named; all else should have come to its end.
  const others = items.filter(({ kind }) => kind !== 'missing')
  if (others.length > 0)
    found.push(`reconciliation: still names ${others.map(({ kind }) => kind).join(', ')} on ${network}`)
  return found
}
