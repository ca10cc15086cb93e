import type { Health } from '../api/operator/health-rows.ts'
import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import { formatUsd, usd } from '../base/money.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { SurfaceName } from '../domain/good.ts'
import type { Trouble, TroubleKind } from '../domain/trouble.ts'
import { readAttention } from '../store/attention.ts'
import type { Database } from '../store/db.ts'
import { recordLook } from '../store/troubles.ts'
import { recordWallets } from '../store/wallets.ts'
import type { KeyRight, OpenSurface } from '../surfaces/surface.ts'
import type { WalletBalance } from './wallets.ts'

type LookoutParts = {
  readonly database: Database
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly chains: readonly { readonly rpc: Rpc }[]
  readonly surfaces: ReadonlyMap<SurfaceName, Pick<OpenSurface, 'needsGame'>>
  health(): Promise<Health>
  wallets(): Promise<readonly WalletBalance[]>
  /** What our keys may do on their chains. */
  rights(): Promise<readonly KeyRight[]>
  /** What keeps the whole shop closed until an operator has decided. */
  closed(): Trouble | null
  /** Says that this replica is there. */
  report(): Promise<void>
  /** Something was written to the log of events. */
  onTold(): void
  readonly everyMs: number
}

export type Lookout = {
  /** Looks around once, now. */
  look(): Promise<void>
  start(): void
  stop(): Promise<void>
}

export const LOOK_MS = 10_000
/** A trouble is over when no replica has seen it for so many looks. */
const QUIET_LOOKS = 3
/** These come and go by themselves: only what is there at two looks in a row is told. */
const FICKLE: ReadonlySet<TroubleKind> = new Set(['node', 'game', 'rail', 'surface'])

/** Each replica looks around every few seconds, and the store sees to it that a change is told once. */
export function createLookout(parts: LookoutParts): Lookout {
  const { database, clock, random, log, onTold, everyMs } = parts
  const stopping = new AbortController()
  let before: ReadonlySet<string> = new Set()
  let looping: Promise<void> | undefined

  async function look(): Promise<void> {
    const { troubles, seen } = await lookAround(parts)
    const lasting = troubles.filter((trouble) => !FICKLE.has(trouble.kind) || before.has(nameOf(trouble)))
    before = new Set(troubles.map(nameOf))
    await parts.report()
    const told = await recordLook(
      database,
      { at: clock.now(), troubles: lasting, seen, quietMs: QUIET_LOOKS * everyMs },
      random,
    )
    if (told > 0) onTold()
  }

  async function loop(): Promise<void> {
    await parts.report().catch((error: unknown) => log.warn('replica heartbeat failed', { error }))
    while (!stopping.signal.aborted) {
      await clock.sleep(everyMs, stopping.signal)
      if (stopping.signal.aborted) return
      await look().catch((error: unknown) => log.warn('health check loop failed', { error }))
    }
  }

  return {
    look,
    start() {
      looping = loop()
    },
    async stop() {
      stopping.abort()
      await looping
    },
  }
}

const nameOf = ({ kind, about }: Trouble): string => `${kind} ${about}`

type Seen = { readonly troubles: readonly Trouble[]; readonly seen: readonly TroubleKind[] }

async function lookAround(parts: LookoutParts): Promise<Seen> {
  const { database, clock, chains, surfaces, health, wallets } = parts
  const [found, balances, attention, rights] = await Promise.all([
    health(),
    wallets().catch(() => null),
    readAttention(database, clock.now()),
    parts.rights().catch((): readonly KeyRight[] => []),
  ])
  if (balances)
    await recordWallets(
      database,
      balances.map((balance) => withRights(balance, rights)),
      clock.now(),
    )
  const troubles = [
    ...(balances ?? []).filter(({ isLow }) => isLow).map(walletTrouble),
    ...chains.flatMap(nodeTroubles),
    // A process that is about to stop sells nothing, and nobody has to be told.
    ...(found.isLeaving ? [] : sellingTroubles(found, surfaces)),
    ...attention,
    ...[parts.closed()].filter((closed) => closed !== null),
  ]
  const always: readonly TroubleKind[] = ['node', 'game', 'rail', 'surface', 'attention']
  return { troubles, seen: balances === null ? always : [...always, 'wallet'] }
}

function withRights(balance: WalletBalance, rights: readonly KeyRight[]) {
  const own = rights.filter(({ address }) => address === balance.address)
  return { ...balance, rights: own.map(({ name, has }) => ({ name, has })) }
}

function walletTrouble({ role, chainId, address, unit, amount }: WalletBalance): Trouble {
  const what = unit === 'wei' ? 'gas' : 'money'
  const need = unit === 'wei' ? 'Send coin' : 'Send stablecoin'
  const left = unit === 'wei' ? `${(Number(amount) / 1e18).toFixed(6)} for gas` : formatUsd(usd(amount))
  return {
    kind: 'wallet',
    about: `${role} on ${chainId} (${what})`,
    detail: `${address} has ${left} left. ${need} to it before it runs out.`,
  }
}

/** By its place in the configuration: its address may hold a key. */
function nodeTroubles({ rpc }: { readonly rpc: Rpc }): readonly Trouble[] {
  return rpc
    .standing()
    .filter(({ isUp }) => !isUp)
    .map(({ place, blocksBehind }) => ({
      kind: 'node',
      about: `node ${place} of chain ${rpc.chainId}`,
      detail:
        blocksBehind > 0
          ? `It is ${blocksBehind} blocks behind the others, and is not asked until it has caught up.`
          : 'It does not answer. Large payments wait for two nodes that do.',
    }))
}

/** What can be sold by no protocol, and which protocol sells nothing. */
function sellingTroubles({ sells }: Health, surfaces: LookoutParts['surfaces']): readonly Trouble[] {
  const downOf = (by: 'surface' | 'rail') =>
    [...Map.groupBy(sells, (pair) => pair[by])].flatMap(([about, pairs]) =>
      // Goods whose every rail was paused by somebody are not down.
      pairs.every(({ isUp }) => !isUp) && (by === 'rail' || pairs.some(({ isPaused }) => !isPaused))
        ? [{ about, reasons: [...new Set(pairs.flatMap(({ reasons }) => reasons))] }]
        : [],
    )
  const paused = downOf('surface')
  const rails = downOf('rail')
  const words = (reasons: readonly string[]) => `Nothing is taken for it. ${reasons.join(' ')}`
  return [
    ...rails.map(({ about, reasons }) => ({ kind: 'rail' as const, about, detail: words(reasons) })),
    ...paused.map(({ about, reasons }) => ({ kind: 'surface' as const, about, detail: words(reasons) })),
    ...paused
      .filter(
        ({ about, reasons }) => surfaces.get(about)?.needsGame && reasons.some((one) => one.startsWith('surface ')),
      )
      .map(({ reasons }) => ({ kind: 'game' as const, about: 'the game backend', detail: words(reasons) })),
  ]
}
