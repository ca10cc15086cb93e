import type { Health, HealthCheck, Selling } from '../api/operator/health-rows.ts'
import { type Clock, isoTime, msSince } from '../base/clock.ts'
import { type Exchange, systemExchange } from '../base/outgoing.ts'
import { isProblem, Problem } from '../base/problem.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Rpc } from '../chain/rpc.ts'
import { TOKEN_PAUSED } from '../chain/tokens.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { Offer } from '../domain/offer.ts'
import { probePrice } from '../domain/price.ts'
import type { RailName } from '../domain/rail.ts'
import type { StoreGate } from '../ledger/store-gate.ts'
import type { Sender } from '../outbox/sender.ts'
import type { OutsideService } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import { oldestDueSeconds } from '../store/jobs.ts'
import type { SalesPause } from '../store/restrictions.ts'
import type { OpenSurface } from '../surfaces/surface.ts'
import type { RoleSigner } from './signers.ts'
import type { WalletBalance } from './wallets.ts'

type HealthChain = { readonly rpc: Rpc; readonly head: HeadSource }

/** A rail that sells, and what must be up before it can settle. */
export type HealthRail = {
  readonly name: RailName
  readonly chainId: number
  readonly outside: readonly OutsideService[]
  /** Keys that pay for its settlements. */
  readonly settlers: readonly Pick<Sender, 'assertFunded'>[]
  /** Has the issuer of its token paused it? */
  isTokenPaused(): Promise<boolean>
}

type HealthParts = {
  readonly database: Database
  readonly chains: readonly HealthChain[]
  readonly rails: readonly HealthRail[]
  readonly surfaces: ReadonlyMap<SurfaceName, Pick<OpenSurface, 'rails' | 'assertSells'>>
  /** Everything that is sold: each must be covered by the float of its rail. */
  readonly offers?: readonly Offer[]
  readonly gate: Pick<StoreGate, 'assertOpen'>
  /** Keys that lie elsewhere. */
  readonly signers?: readonly Pick<RoleSigner, 'role' | 'sender'>[]
  wallets(): Promise<readonly WalletBalance[]>
  /** Rails on which somebody has paused sales. */
  pauses?(): Promise<readonly SalesPause[]>
  readonly clock: Clock
  readonly exchange?: Exchange
}

export type HealthWatch = {
  read(): Promise<Health>
  /** Throws what is known to keep this from being sold, as long as that is news. Asks nobody. */
  assertSelling(surface: SurfaceName, rail: RailName): void
  /** From now on this process is about to stop, and says so to whoever sends it requests. */
  leave(): void
}

const CACHE_MS = 2_000
const CHECK_MS_MAX = 3_000
/** What was found so long ago may be mended: whoever buys is let in, and each step finds out for itself. */
const NEWS_MS = 10_000
/** Orders that were due so long ago and that nobody has taken up: the workers are down or cannot keep up. */
const LAG_SECONDS_MAX = 30
const NO_SETTLEMENT = 'The settlement service does not answer as it should; nothing was taken.'
/** About what a settlement takes. */
const SETTLE_GAS = 150_000n

type Found = HealthCheck & { readonly problem: Problem | null }
type Look = {
  readonly at: number
  readonly found: readonly Found[]
  readonly pauses: readonly SalesPause[]
  /** What lacks a float to be refunded from, by surface and rail. */
  readonly short: ReadonlyMap<string, Problem>
  /** What is known to keep goods from being sold, by surface and rail. */
  readonly obstacles: ReadonlyMap<string, Problem>
}

/** Asked by load balancers every few seconds and by anybody else as often as they like: the answer is kept for two seconds. */
export function createHealth(parts: HealthParts): HealthWatch {
  const { clock, surfaces, rails } = parts
  let asked: { readonly at: number; readonly look: Promise<Look> } | null = null
  let last: Look | null = null
  let isLeaving = false

  const pairs = [...surfaces].flatMap(([surface, { rails: on }]) =>
    on.map((rail) => ({ surface, rail, needs: needsOf(surface, rail, rails) })),
  )

  async function lookAround(): Promise<Look> {
    const at = clock.now()
    const short = new Map<string, Problem>()
    const [found, pauses] = await Promise.all([
      runChecks(parts, short),
      within(clock, readPausesOf(parts)).catch(() => []),
    ])
    const obstacles = new Map<string, Problem>()
    for (const { surface, rail, needs } of pairs) {
      const fault = found.find(({ name, problem }) => problem !== null && needs.has(name))?.problem
      const obstacle = fault ?? short.get(`${surface} ${rail}`)
      if (obstacle) obstacles.set(`${surface} ${rail}`, obstacle)
    }
    last = { at, found, pauses, short, obstacles }
    return last
  }

  function look(): Promise<Look> {
    if (asked === null || msSince(clock, asked.at) > CACHE_MS) asked = { at: clock.now(), look: lookAround() }
    return asked.look
  }

  return {
    async read() {
      const { found, pauses, short } = await look()
      const sells = pairs.map(({ surface, rail, needs }): Selling => {
        const down = found.filter(({ name, status }) => status === 'fail' && needs.has(name))
        const pause = pauses.find((one) => one.rail === rail)
        const lacking = short.get(`${surface} ${rail}`)
        const reasons = down.map(({ name, detail }) => `${name}: ${detail}`)
        if (lacking) reasons.push(`float: ${lacking.message}`)
        return {
          surface,
          rail,
          isUp: reasons.length === 0 && !pause,
          isPaused: pause !== undefined && reasons.length === 0,
          reasons: pause ? [...reasons, pausedWords(pause)] : reasons,
        }
      })
      const checks = found.map(({ name, status, detail }) => ({ name, status, detail }))
      return { checks: isLeaving ? [...checks, LEAVING] : checks, sells, isLeaving }
    },
    assertSelling(surface, rail) {
      if (last === null || last.obstacles.size === 0 || msSince(clock, last.at) > NEWS_MS) return
      const obstacle = last.obstacles.get(`${surface} ${rail}`)
      if (!obstacle) return
      // Whoever comes next is let in as soon as it is mended, though nobody may ask for our health.
      void look()
      throw obstacle
    },
    leave() {
      isLeaving = true
    },
  }
}

async function readPausesOf({ pauses }: HealthParts): Promise<readonly SalesPause[]> {
  return (await pauses?.()) ?? []
}

/** Why is nobody's business but the operators'. */
function pausedWords({ since, until }: SalesPause): string {
  return `sales: Paused by whoever runs the shop since ${isoTime(since)}${until === null ? '' : `, until ${isoTime(until)}`}.`
}

/** By the names of the checks. */
function needsOf(surface: SurfaceName, rail: RailName, rails: readonly HealthRail[]): ReadonlySet<string> {
  const { chainId, outside = [] } = rails.find(({ name }) => name === rail) ?? {}
  const ofRail = [`chain ${chainId}`, `rail ${rail}`, ...outside.map(({ name }) => name)]
  return new Set(['store', 'ledger', `surface ${surface}`, ...ofRail])
}

const LEAVING: HealthCheck = { name: 'process', status: 'fail', detail: 'This process is about to stop.' }

function runChecks(parts: HealthParts, short: Map<string, Problem>): Promise<readonly Found[]> {
  const { database, chains, rails, surfaces, gate, signers = [], clock, exchange = systemExchange } = parts
  const check = checker(clock)
  return Promise.all([
    check('store', 'fail', async () => {
      await database.ping()
      database.ensureRoom()
      return ok('The store answers.')
    }),
    ...chains.map(({ rpc, head }) => check(`chain ${rpc.chainId}`, 'fail', () => askChain(rpc, head))),
    ...rails.flatMap((rail) => railChecks(rail, check, exchange)),
    check('ledger', 'fail', async () => {
      gate.assertOpen()
      return ok('The shop sells from this store.')
    }),
    ...[...surfaces].flatMap(([name, { assertSells }]) =>
      assertSells ? [check(`surface ${name}`, 'fail', () => assertSells().then(() => ok('It can be delivered.')))] : [],
    ),
    check('float', 'fail', () => askFloats(parts, short)),
    check('worker', 'warn', () => askWorkers(database)),
    ...(signers.length > 0 ? [check('signers', 'warn', () => askSigners(signers))] : []),
    check('wallets', 'warn', () => askWallets(parts)),
  ])
}

type Finding = Pick<HealthCheck, 'status' | 'detail'>
type Check = (name: string, severity: 'warn' | 'fail', ask: () => Promise<Finding>) => Promise<Found>

/** Only what a node or signer said counts against a buyer. One that did not answer in time may be slow because we are. */
function checker(clock: Clock): Check {
  return (name, severity, ask) =>
    within(clock, ask()).then(
      (finding) => ({ name, ...finding, problem: null }),
      (error): Found => ({
        name,
        status: severity,
        detail: isProblem(error) ? error.message : 'It does not answer.',
        problem: severity === 'fail' && isProblem(error) && error.status >= 500 ? error : null,
      }),
    )
}

function railChecks(
  { name, outside, settlers, isTokenPaused }: HealthRail,
  check: Check,
  exchange: Exchange,
): readonly Promise<Found>[] {
  return [
    ...outside.map(({ name, ask }) =>
      check(name, 'fail', async () => {
        const { isWell, detail } = await ask(exchange).catch((cause: unknown) => {
          throw new Problem('facilitator_unavailable', NO_SETTLEMENT, { cause })
        })
        if (!isWell) throw new Problem('facilitator_unavailable', `${NO_SETTLEMENT} ${detail}`)
        return ok(detail)
      }),
    ),
    check(`rail ${name}`, 'fail', async () => {
      if (await isTokenPaused()) throw new Problem('surface_closed', TOKEN_PAUSED)
      await Promise.all(settlers.map((settler) => settler.assertFunded(SETTLE_GAS)))
      return ok('Payments can be settled.')
    }),
  ]
}

/** Could the cheapest of each surface be sent back? What cannot be read now is told of by the checks of store and chains. */
async function askFloats({ surfaces, offers = [] }: HealthParts, short: Map<string, Problem>): Promise<Finding> {
  const lowest = async ({ price, uncovered }: Offer) => ({ price: await probePrice(price), uncovered })
  const pairs = [...surfaces].flatMap(([surface, { rails }]) => rails.map((rail) => ({ surface, rail })))
  await Promise.all(
    pairs.map(async ({ surface, rail }) => {
      const sold = offers.filter(({ good, rail: { name } }) => good.surface === surface && name === rail)
      const read = await Promise.all(sold.map((offer) => lowest(offer).catch(() => null)))
      const [cheapest] = read.filter((one) => one !== null).toSorted((a, b) => Number(a.price - b.price))
      const problem = await cheapest?.uncovered(cheapest.price).catch(() => null)
      if (problem) short.set(`${surface} ${rail}`, problem)
    }),
  )
  const words = [...new Set([...short.values()].map(({ message }) => message))]
  return words.length === 0 ? ok('Refunds are covered.') : { status: 'fail', detail: words.join(' ') }
}

function ok(detail: string): Finding {
  return { status: 'ok', detail }
}

async function askWorkers(database: Database): Promise<Finding> {
  const lag = Math.round(await oldestDueSeconds(database, 'order'))
  return lag > LAG_SECONDS_MAX
    ? { status: 'warn', detail: `The oldest order has been waiting for ${lag} seconds.` }
    : ok('Open orders are worked on.')
}

async function askWallets({ wallets }: HealthParts): Promise<Finding> {
  const low = (await wallets()).filter(({ isLow }) => isLow)
  const named = low.map(({ role, chainId, unit }) => `${role} on ${chainId} (${unit === 'wei' ? 'gas' : 'money'})`)
  return low.length > 0 ? { status: 'warn', detail: `Running low: ${named.join(', ')}.` } : ok('All are funded.')
}

/** A chain that has lost a node still takes payments; large ones wait until it is back. */
async function askChain(rpc: Rpc, head: HeadSource): Promise<Finding> {
  const chainId = Number(await rpc.request<string>('eth_chainId'))
  if (chainId !== rpc.chainId) return { status: 'fail', detail: `The RPC address leads to chain ${chainId} instead.` }
  await head.latest()
  const doubtful = rpc.standing().filter(({ isUp }) => !isUp).length
  return doubtful === 0
    ? ok('The chain answers.')
    : { status: 'warn', detail: `${doubtful} of its RPC addresses are silent or lag.` }
}

/** What needs no signature of ours is still sold, so this alone does not close the shop. */
async function askSigners(signers: NonNullable<HealthParts['signers']>): Promise<Finding> {
  const answers = await Promise.all(
    signers.map(({ role, sender }) =>
      sender.assertReady().then(
        () => null,
        (error: Error) => `${role}: ${error.message}`,
      ),
    ),
  )
  const troubles = [...new Set(answers.filter((trouble) => trouble !== null))]
  return troubles.length === 0 ? ok('All keys can sign.') : { status: 'warn', detail: troubles.join(' ') }
}

async function within<Result>(clock: Clock, work: Promise<Result>): Promise<Result> {
  const done = new AbortController()
  const late = clock.sleep(CHECK_MS_MAX, done.signal).then((): never => {
    throw new Error('too late')
  })
  try {
    return await Promise.race([work, late])
  } finally {
    // The alarm is called off, and its complaint with it.
    late.catch(() => {})
    done.abort()
  }
}
