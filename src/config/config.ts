import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import type { Jwks } from '../base/jws.ts'
import type { LogLevel } from '../base/log.ts'
import type { Usd } from '../base/money.ts'
import type { Secret } from '../base/secret.ts'
import type { Limits } from './limits.ts'
import type { Setting } from './settings.ts'
import type { ChainKey } from './signing-key.ts'

/** The resolved configuration. Everything past `config/` sees only this; nothing else reads the environment. */
export type Config = {
  readonly mode: 'sandbox' | 'production'
  readonly http: HttpConfig
  /** Null switches the operator routes off. */
  readonly operatorToken: Secret | null
  readonly operators: OperatorsConfig
  readonly store: StoreConfig
  readonly logLevel: LogLevel
  readonly limits: Limits
  readonly service: ServiceConfig
  /** Null: the protocol is switched off, and its routes and documents vanish. */
  readonly x402: X402Config | null
  readonly mpp: MppConfig | null
  /** Rails that sell nothing any more, and finish, tell and send back what they sold. */
  readonly retired: readonly RetiredRail[]
  /** Surfaces that sell nothing any more; what they sold is finished all the same. */
  readonly notSold: ReadonlySet<string>
  readonly game: GameConfig
  readonly receipts: ReceiptConfig
  readonly operations: OperationsConfig
  /** Payers that are never served, lower case. */
  readonly blockedPayers: ReadonlySet<string>
  /** Every option with what may be seen of it. */
  readonly settings: readonly Setting[]
}

/** How the shop names and proves itself in its documents. */
export type ServiceConfig = {
  readonly name: string
  readonly contactEmail: string | null
  /** What 402index.io asks to find at `/.well-known/402index-verify.txt`. */
  readonly indexVerification: string | null
  /** EIP-191 signatures of our origins by the addresses that are paid. Made where their keys are, which need not be here. */
  readonly ownershipProofs: readonly Hex[]
}

export type HttpConfig = {
  readonly host: string
  readonly port: number
  /** A sandbox, or bound to this machine: its routes are open to less than the names that lead to them. */
  readonly isForThisMachine: boolean
  /** Public address of the MPP routes, without a trailing slash. */
  readonly baseUrl: string
  /** Public address of the x402 routes and of `/mcp`. */
  readonly x402BaseUrl: string
  /** How many proxies of ours stand in front: only they may say whom they speak for. */
  readonly proxyHops: number
  /** Browser origins that may call `/mcp`; requests without an Origin always may. */
  readonly mcpOrigins: readonly string[]
}

/** The people who run the shop, and what they may do alone. */
export type OperatorsConfig = {
  /** Pages and sessions. Without them only tokens open the operator's routes. */
  readonly console: boolean
  /** What each of support may give back within a day. */
  readonly supportRefundsPerDay: Usd
  /** From this amount on a refund needs a second person; null: never. */
  readonly secondPersonFrom: Usd | null
  /** What the shop's own token may; beside it, it makes the first admin. A token is nobody, so in production it only reads. */
  readonly tokenRole: 'admin' | 'viewer'
}

export type StoreConfig = {
  /** Unset: the embedded store in `dataDir`. */
  readonly url: string | undefined
  readonly dataDir: string
  readonly poolSize: number
  readonly migrate: 'auto' | 'check'
  /** `synchronous`: a standby has every commit, so the shop goes on by itself after a failover. */
  readonly standby: 'none' | 'synchronous'
}

export type ChainConfig = {
  readonly chainId: number
  /** Asked in turn. The sandbox's chains live in the process and need none. */
  readonly rpcUrls: readonly string[]
  readonly tipWei: bigint
  /** How deep a transaction must lie before we act as if it could not go away again. */
  readonly burial: { readonly blocks: bigint; readonly ms: number }
  /** False on Tempo, where gas is paid in a token. */
  readonly paysGasInCoin: boolean
}

/** How deep a payment must lie before goods leave: from this amount on, so many blocks. */
export type ConfirmationTier = { readonly fromAmount: Usd; readonly blocks: number }

export type X402Config = {
  readonly chain: ChainConfig
  readonly network: string
  readonly asset: Address
  readonly assetName: string
  readonly assetVersion: string
  readonly currency: string
  readonly payTo: Address
  readonly facilitator:
    | { readonly kind: 'inproc'; readonly settlerKey: ChainKey }
    | { readonly kind: 'remote'; readonly url: string; readonly headers: Readonly<Record<string, Secret>> }
  readonly treasuryKey: ChainKey
  readonly confirmations: readonly ConfirmationTier[]
  /** Where a new store begins to read who paid; null: when the shop first asked to be paid there. */
  readonly sinceBlock: bigint | null
}

export type MppConfig = {
  readonly chain: ChainConfig
  readonly network: string
  readonly currency: { readonly address: Address; readonly code: string }
  readonly recipient: Address
  readonly realm: string
  readonly secrets: readonly [Secret, ...Secret[]]
  readonly modes: readonly ('pull' | 'push')[]
  readonly treasuryKey: ChainKey
  readonly confirmations: readonly ConfirmationTier[]
  readonly sinceBlock: bigint | null
}

type RetiredRail =
  | { readonly rail: 'x402'; readonly config: X402Config }
  | { readonly rail: 'mpp'; readonly config: MppConfig }

/** Who signs delivery receipts. */
export type ReceiptConfig = {
  /** PEM, JWK or number; checked when it was read. */
  readonly key: Secret
  /** Public keys that signed before, still published. */
  readonly retired: Jwks
}

export type OperationsConfig = {
  /** For development: webhooks may go to this very machine. */
  readonly webhookLoopback: boolean
  /** How long a process that is told to stop says so at `/health/ready` before it takes no more connections. */
  readonly drainSeconds: number
  /** How often the books are compared with the chain. */
  readonly reconcileSeconds: number
  /** `hold`: an address that others are paid at too, where money without a purchase may be theirs. */
  readonly unmatched: 'return' | 'hold'
  /** How long money without a purchase waits for its payer before it goes back. */
  readonly returnAfterSeconds: number
  /** Below these, a wallet of ours raises the alarm. */
  readonly gasLowWei: bigint
  readonly treasuryLow: Usd
  /** From this amount on a payment counts only when two nodes show it; null: never. */
  readonly secondOpinionFrom: Usd | null
  /** How long finished work is kept. Orders that were paid and the identities of payments are kept for ever. */
  readonly keepMs: number
}

export type SaleConfig = {
  readonly contract: Address
  /** Only these lots are offered; null: all that the contract has. */
  readonly saleIds: readonly number[] | null
  /** The one that examples buy. */
  readonly exampleSaleId: number
  readonly minterKey: ChainKey
}

export type GameConfig = {
  /** What examples name; documents name what is on the shelf where they can. */
  readonly examples: { readonly itemId: string; readonly nickname: string }
  readonly chain: ChainConfig
  readonly sale: SaleConfig | null
  readonly craft: {
    readonly controller: Address
    readonly crafterKey: ChainKey
    /** Atomic units of the craft token that an accelerate without an amount charges. */
    readonly defaultAmount: bigint
    readonly maxAmount: bigint
  } | null
  readonly backend:
    | { readonly kind: 'embedded' }
    | { readonly kind: 'http'; readonly url: string; readonly secret: Secret }
}

/** The blocks a payment of this size must lie deep. */
export function confirmationsFor(tiers: readonly ConfirmationTier[]): (amount: bigint) => number {
  const sorted = tiers.toSorted((a, b) => (a.fromAmount < b.fromAmount ? 1 : -1))
  return (amount) => sorted.find(({ fromAmount }) => amount >= fromAmount)?.blocks ?? 1
}

/** Every public address of this shop, the main one first. */
export function publicUrls({ baseUrl, x402BaseUrl }: HttpConfig): readonly string[] {
  return [...new Set([baseUrl, x402BaseUrl])]
}

/** The public address that serves `/mcp`. */
export function mcpBaseUrl({ x402BaseUrl }: HttpConfig): string {
  return x402BaseUrl
}

/** The same configuration with its chains reached in another way. */
export function withChains(config: Config, at: (chain: ChainConfig) => ChainConfig): Config {
  const { x402, mpp, game } = config
  return {
    ...config,
    x402: x402 && { ...x402, chain: at(x402.chain) },
    mpp: mpp && { ...mpp, chain: at(mpp.chain) },
    game: { ...game, chain: at(game.chain) },
  }
}
