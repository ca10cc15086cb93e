import type { WaypointName } from '../../src/base/waypoint.ts'

export type StartOrder = {
  readonly databaseUrl: string
  /** Of each chain: one node, or several. */
  readonly rpcUrls: Readonly<Record<number, readonly string[]>>
  readonly port: number
  readonly leaseSeconds: number
  /** How long it is unready before it stops. */
  readonly drainSeconds?: number
  /** How long a buyer is kept waiting, where it matters. */
  readonly waitMsMax?: number
  /** How long a node may think, where none is ever silent. */
  readonly rpcTimeoutMs?: number
  readonly verbose: boolean
  /** All is loaded before it listens, as in production. */
  readonly isWarm?: boolean
  /** Where its log goes, if not nowhere. */
  readonly logFile?: string
  /** Options beside those of every test. */
  readonly env?: Readonly<Record<string, string>>
}
/** Dies at the n-th waypoint that is passed after this order; null takes the order back. */
export type CrashOrder = { readonly crashAfter: number | null }
export type ToServer = { readonly start: StartOrder } | { readonly crash: CrashOrder } | { readonly record: true }
export type FromServer =
  | { readonly ready: true }
  /** And what its own clock shows. */
  | { readonly listening: true; readonly now: number }
  | { readonly passed: WaypointName }
  | { readonly armed: true }

/** Where every replica says it is; it never is, so no answer depends on a port. */
export const PUBLIC_URL = 'http://shop.test'
