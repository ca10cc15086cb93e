import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/id.ts'
import type { Log } from '../base/log.ts'
import type { Exchange } from '../base/outgoing.ts'
import type { Secret } from '../base/secret.ts'
import type { Waypoint } from '../base/waypoint.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { ChainConfig, Config, ConfirmationTier, HttpConfig } from '../config/config.ts'
import type { Limits } from '../config/limits.ts'
import type { ChainKey } from '../config/signing-key.ts'
import type { Rail, RailName, RailTraits } from '../domain/rail.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { ShopTerms } from '../store/shop-terms.ts'

/**
 * A payment protocol: everything there is to know about it lies in its folder, behind one of these. Nothing outside names a rail but the
 * list of them in `rails.ts` and the configuration, whose options are published.
 */
export type RailKind = RailTraits & {
  /** Public address of its routes. */
  baseUrl(http: HttpConfig): string
  /** Where it is paid, or was: one for each network that the configuration names. */
  accounts(config: Config): readonly RailAccount[]
}

/** A rail on one network, as the configuration has it. */
export type RailAccount = Omit<ShopTerms, 'rail'> & {
  readonly rail: RailName
  /** False: it finishes, tells and sends back what it sold, and sells nothing more. */
  readonly isSelling: boolean
  readonly chain: ChainConfig
  readonly confirmations: readonly ConfirmationTier[]
  readonly sinceBlock: bigint | null
  readonly treasuryKey: ChainKey
  /** Does the treasury send its refunds itself? Otherwise it signs them, another key sends them, and it needs no gas. */
  readonly treasurySends: boolean
  /** Keys that write to its chain beside the treasury, by what they are for. */
  readonly otherKeys: readonly { readonly role: string; readonly key: ChainKey }[]
  /** What else must be up before it can settle, beside its chain. */
  readonly outside: readonly OutsideService[]
  /** What the doctor looks at on its chain before money is taken. */
  readonly checks: readonly RailCheck[]
  /** Lines to copy, for whoever wants to try it in the sandbox. */
  trials?(sandbox: Sandbox): Trials
  open(chain: ChainAccess, parts: RailParts): Rail
}

/** Tells what is well, or throws what is wrong, which `fix` may mend. Reads only. */
export type RailCheck = {
  readonly what: string
  readonly fix: string
  look(rpc: Rpc): Promise<string>
}

export type OutsideService = Omit<RailCheck, 'look'> & {
  readonly name: string
  /** Is it up? Rejects when nothing answers. */
  ask(exchange: Exchange): Promise<{ readonly isWell: boolean; readonly detail: string }>
  /** Does it do what we need it for? */
  look(): Promise<string>
}

/** Amounts are millionths of a dollar, here as on every chain that we are paid on. */
export const DECIMALS = 6

/** What a rail is opened with. */
export type RailParts = {
  readonly http: HttpConfig
  readonly limits: Limits
  readonly clock: Clock
  readonly log: Log
  readonly waypoint: Waypoint
  readonly random: Random
  /** Sign quotes where a rail has no secret of its own for that: the first issues, all are accepted. */
  readonly challengeSecrets: readonly [Secret, ...Secret[]]
  /** Asks what is outside: a facilitator. */
  readonly exchange: Exchange
  readonly serviceName: string
  /** What this shop asked for before, by earlier configurations too. */
  readonly past: readonly ShopTerms[]
  /** From this amount on a payment needs two nodes that show it; null: never. */
  readonly secondOpinionFrom: bigint | null
}

export type Trials = readonly (readonly [how: string, line: string])[]

/** Where the sandbox is, and how its visitor runs things. */
export type Sandbox = {
  readonly http: HttpConfig
  readonly mcpUrl: string
  /** Of a wallet with play money. */
  readonly key: string
  rpcUrl(chainId: number): string
  /** The command that runs an installed program, or one of our examples. */
  program(name: string): string
  example(name: string): string
  /** What has to be run before the MCP client is there; empty where it is. */
  readonly mcpClient: string
}

/** All accounts of all rails: those that sell before those that did. */
export function accountsOf(kinds: readonly RailKind[], config: Config): readonly RailAccount[] {
  const accounts = kinds.flatMap((kind) => kind.accounts(config))
  return [...accounts.filter(({ isSelling }) => isSelling), ...accounts.filter(({ isSelling }) => !isSelling)]
}

export function sellingAccounts(kinds: readonly RailKind[], config: Config): readonly RailAccount[] {
  return accountsOf(kinds, config).filter(({ isSelling }) => isSelling)
}

/** Where the routes of a rail are, also of one that this shop knows from its records alone. */
export function addressFinder(kinds: readonly RailKind[], http: HttpConfig): (rail: RailName) => string {
  const addresses = new Map(kinds.map((kind) => [kind.name, kind.baseUrl(http)]))
  return (rail) => addresses.get(rail) ?? http.baseUrl
}
