import type { HealthCheck } from '../api/operator/health-rows.ts'
import type { Clock } from '../base/clock.ts'
import { isProblem } from '../base/problem.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { LedgerGate } from '../checkout/ledger-gate.ts'
import type { OutsideService } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import { countJobs } from '../store/jobs.ts'
import type { WalletBalance } from './wallets.ts'

export type HealthParts = {
  readonly database: Database
  readonly chains: readonly { readonly rpc: Rpc; readonly head: HeadSource }[]
  /** What the rails that sell need beside their chains. */
  readonly outside: readonly OutsideService[]
  readonly gate: LedgerGate
  wallets(): Promise<readonly WalletBalance[]>
  readonly clock: Clock
}

const CACHE_MS = 2_000
const CHECK_MS_MAX = 3_000
/** Orders that were due so long ago and that nobody has taken up: the workers are down or cannot keep up. */
const LAG_SECONDS_MAX = 30

type Finding = Pick<HealthCheck, 'status' | 'detail'>

/** Asked by load balancers every few seconds and by anybody else as often as they like: the answer is kept for two seconds. */
export function createHealth(parts: HealthParts): () => Promise<readonly HealthCheck[]> {
  const { clock } = parts
  let kept: { readonly at: number; readonly checks: Promise<readonly HealthCheck[]> } | null = null
  return () => {
    if (kept === null || clock.now() - kept.at > CACHE_MS) kept = { at: clock.now(), checks: runChecks(parts) }
    return kept.checks
  }
}

function runChecks(parts: HealthParts): Promise<readonly HealthCheck[]> {
  const { database, chains, outside, gate, wallets, clock } = parts
  const check = (name: string, severity: 'warn' | 'fail', ask: () => Promise<Finding>) =>
    within(clock, ask()).then(
      (finding) => ({ name, ...finding }),
      (error): HealthCheck => ({
        name,
        status: severity,
        detail: isProblem(error) ? error.message : 'It does not answer.',
      }),
    )
  return Promise.all([
    check('store', 'fail', async () => {
      await database.ping()
      database.ensureRoom()
      return ok('The store answers.')
    }),
    ...chains.map(({ rpc, head }) => check(`chain ${rpc.chainId}`, 'fail', () => askChain(rpc, head))),
    ...outside.map(({ name, ask }) =>
      check(name, 'fail', async () => {
        const { isWell, detail } = await ask()
        return { status: isWell ? 'ok' : 'fail', detail }
      }),
    ),
    check('ledger', 'fail', async () => {
      gate.assertOpen()
      return ok('The spent payments are known.')
    }),
    check('worker', 'warn', async () => {
      const lag = Math.round((await countJobs(database)).find(({ kind }) => kind === 'order')?.oldestDueSeconds ?? 0)
      return lag > LAG_SECONDS_MAX
        ? { status: 'warn', detail: `The oldest order has been waiting for ${lag} seconds.` }
        : ok('Open orders are worked on.')
    }),
    check('wallets', 'warn', async () => {
      const low = (await wallets()).filter(({ isLow }) => isLow)
      const named = low.map(({ role, chainId, unit }) => `${role} on ${chainId} (${unit === 'wei' ? 'gas' : 'money'})`)
      return low.length > 0 ? { status: 'warn', detail: `Running low: ${named.join(', ')}.` } : ok('All are funded.')
    }),
  ])
}

function ok(detail: string): Finding {
  return { status: 'ok', detail }
}

/** A chain that stands still takes no payments. One that has lost a node still does; large ones wait until it is back. */
async function askChain(rpc: Rpc, head: HeadSource): Promise<Finding> {
  const chainId = Number(await rpc.request<string>('eth_chainId'))
  if (chainId !== rpc.chainId) return { status: 'fail', detail: `The RPC address leads to chain ${chainId} instead.` }
  await head.latest()
  const doubtful = rpc.doubtful()
  return doubtful === 0
    ? ok('The chain answers.')
    : { status: 'warn', detail: `${doubtful} of its RPC addresses are silent or lag.` }
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
