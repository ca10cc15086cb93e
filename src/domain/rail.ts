import * as z from 'zod'
import type { Address, Hash } from '../base/address.ts'
import type { JsonObject } from '../base/json.ts'
import type { Usd } from '../base/money.ts'
import { Problem, type ProblemCode } from '../base/problem.ts'
import type { Lease } from './lease.ts'
import type { RailDocuments } from './rail-documents.ts'

/** How a purchase is paid. The name is part of paths, documents and orders, and never changes. */
export type RailName = string

// One list for the process, and no argument: the schemas of routes, events and rows are values of their modules, and each that has a rail in it
// would have to become a function of the rails, with everything that is derived from it.
const declared: RailTraits[] = []

/** Every rail is declared before anything is served, so that schemas and headers tell of all there are. */
export function declareRails(rails: readonly RailTraits[]): void {
  declared.push(...rails.filter(({ name }) => !declared.some((known) => known.name === name)))
}

export function declaredRails(): readonly RailTraits[] {
  return declared
}

/** Made when it is first asked for: by then all of them are declared. */
export const railNameSchema = z.lazy(() => z.enum(declared.map(({ name }) => name)))

/** What is known of a protocol without opening it. */
export type RailTraits = {
  readonly name: RailName
  /** As people read it. */
  readonly label: string
  /** What its payments are known by, beside their transaction. */
  readonly reference: string
  readonly headers: RailHeaders
  readonly mcp: McpBinding
  readonly privileges: RailPrivileges
}

export type RailHeaders = {
  /** Carries the payment; where there is a scheme, only when it begins with that word. */
  readonly credential: { readonly name: string; readonly scheme: string | null }
  /** What else its clients send. */
  readonly alsoSent: readonly string[]
  /** Headers that look like a payment of this protocol and are none, such as those of an earlier version: a client that sends one is told so. */
  readonly mistaken?: readonly { readonly name: string; readonly what: string }[]
  readonly challenge: string
  readonly receipt: string
}

/** How the protocol's own MCP transport wants to be found. What travels in `_meta` is the affair of `Wire`. */
export type McpBinding = {
  /** `_meta` of a tool that is paid this way. */
  readonly toolMeta: JsonObject
  /** The member of that `_meta` in which its clients look for a price in dollars; null where they look nowhere. */
  readonly priceKey: string | null
  readonly capabilities: { readonly legacy: JsonObject; readonly modern: JsonObject }
  /** The extension by which a modern client says that it knows a result of the type `payment_required`. */
  readonly extension: string | null
  /** The member of a challenge's `_meta` that its clients look for in the content of the result as well. */
  readonly contentKey: string | null
  /** The member that is the data of the error by which some clients want to be asked. */
  readonly errorKey: string | null
  /** A receipt's `_meta`, with what only this call knows. */
  receiptFor(receipt: Wire['meta'], sent: Wire['meta']): Wire['meta']
}

/** Where the published interface treats rails differently. All other goods are sold on every rail. */
type RailPrivileges = {
  /** The gateway's paid probes are sold on it. */
  readonly hasProbes: boolean
  /** A request may name its payer as the one who is served, and the player with that wallet is looked up. */
  readonly servesPayer: boolean
  /** Its catalog entry of the sale carries the lots (contract 2.3.7). */
  readonly listsLots: boolean
}

/** The operation being sold, as both protocols name it to the payer. */
export type Resource = {
  /** Absolute, from configuration, never from the request's Host. */
  readonly url: string
  /** What a challenge may be spent on: method and path, or the MCP tool. Part of what the payer agrees to. */
  readonly scope: string
  /** ASCII: header values beyond it arrive mangled at some clients. */
  readonly description: string
  /** For crawlers and wallets: what kind of thing it is, and a picture of whose it is. */
  readonly tags?: readonly string[] | undefined
  readonly iconUrl?: string | undefined
  /** How the protocol's crawlers describe this operation; opaque to the core. */
  readonly discovery?: (() => JsonObject) | undefined
}

/** What a payer must agree to. The shop computes it for each request; nothing of it is read from the client. */
export type Terms = {
  readonly price: Usd
  readonly resource: Resource
  /** The body's bytes as sent, or null for an empty request: a price question binds no body. */
  readonly body: Uint8Array | null
  /** False where the priced call and the paid call may differ by contract (`report-tx`). */
  readonly bodyIsBound: boolean
  /** Only the payer's own key counts, because the good acts in the payer's name. */
  readonly payerActs?: boolean
  readonly flowId: string
}

/** How bytes travel: HTTP headers or MCP `_meta`. The rail reads the carrier that is there. */
export type Incoming = {
  /** By its lower-case name. */
  header(name: string): string | undefined
  meta(key: string): unknown
}

/** What goes back, for both carriers: HTTP picks `headers`, MCP picks `meta`. */
export type Wire = {
  readonly headers: Readonly<Record<string, string>>
  readonly meta: Readonly<Record<string, unknown>>
}

/** A 402. The shop sends nothing more often, so what goes into its body comes as text: hardly any of it changes between two of them. */
export type ChallengeWire = Pick<Wire, 'headers'> & {
  /** Made only when it is asked for: MCP wants the challenge as a document, and HTTP has no use for it. `error` says there why the client has to pay. */
  meta(error: string): Wire['meta']
  /** Members of a JSON object, without its braces; they come first in the body. */
  readonly members: string
  /** What the protocol itself calls this problem; null where it has no word, and ours stands. */
  readonly problemType: string | null
}

/** Asks for money for one resource. What two of its challenges have in common is written once, when it is made. `reason` says why the client has to pay. */
export type Challenger = (terms: Terms, reason: Problem) => ChallengeWire

/** `authorized`: the payer has signed, and the shop may still refuse the money. `captured`: it moved before the shop heard of it. */
export type Funds = 'authorized' | 'captured'

/** A credential that passed every check that moves no money. */
export type Payment = {
  /** The names of this payment, for ever: unique in the store. The first is the one shown to people, and the last is the one that the chain tells. */
  readonly identities: readonly string[]
  /** Digest of the credential's proof: a caller with an equal one may read the stored answer without any cryptography. */
  readonly proofDigest: string
  readonly payer: Address
  readonly amount: bigint
  readonly asset: Address
  readonly network: string
  readonly payTo: Address
  readonly funds: Funds
  /** After this moment, in milliseconds, the payment can no longer land. */
  readonly expiresAt: number
  /** What `settle` needs to move the money. Kept only while the outcome is open, then wiped. */
  readonly authorization: JsonObject
  /** The caller's own name for this purchase, where its protocol carries one. */
  readonly idempotencyKey?: string | undefined
  /** The flow the challenge was issued under, where the credential echoes it. */
  readonly flowId?: string | undefined
  /** Whether it was signed is for code of the payer's own to say, which may burn so much of our gas; absent where a key has signed. */
  readonly gasAtRisk?: bigint | undefined
  /** Why money that has moved buys nothing: it cannot be refused, so it is sent back. */
  readonly objection?: Problem | undefined
}

/** Money moved, and the shop saw it on the chain. */
type Settlement = {
  readonly transaction: Hash
  readonly network: string
  readonly payer: Address
  readonly settledAt: number
}

/** What the rail found about a credential. It has written nothing and moved nothing. */
export type Verified =
  | { readonly kind: 'pays'; readonly payment: Payment }
  /** Only for money that its payer sends: the chain does not show it yet, and may never. */
  | { readonly kind: 'unseen'; readonly transaction: Hash }
  /** It reached a receiving account and buys nothing here: it goes back to its sender. */
  | ({ readonly kind: 'orphaned' } & OrphanedPayment)

/** A payment that is on the chain and has no order. */
export type OrphanedPayment = {
  readonly transaction: Hash
  /** What the caller who showed it reads. */
  readonly detail: string
}

export type SettleOutcome =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  /** Proof that this payment did not move, and that the shop will not move it. */
  | {
      readonly kind: 'refused'
      readonly code: ProblemCode
      readonly detail: string
    }
  /**
   * Not known yet: settle again, and never ask the payer for another payment. `isSeen`: it is on the chain, and not deep enough. `hasFailed`: it
   * was mined and took nothing, and only a block that replaces that one could change it; it keeps goods from no other payer.
   */
  | {
      readonly kind: 'unknown'
      readonly detail: string
      readonly transaction?: Hash | undefined
      readonly isSeen?: boolean
      readonly hasFailed?: boolean
    }

/** The part of an order that a rail works with. */
export type PaidOrder = {
  readonly id: string
  readonly payer: Address
  readonly amount: bigint
  readonly asset: Address
  readonly network: string
  readonly payTo: Address
  readonly expiresAt: number
  readonly authorization: JsonObject | null
  /** An earlier attempt to settle ended without an answer. */
  readonly inDoubt: boolean
  readonly createdAt: number
  readonly settlement: Settlement | null
}

export type RefundOutcome =
  | { readonly kind: 'refunded'; readonly transaction: Hash }
  | { readonly kind: 'pending'; readonly transaction?: Hash | undefined; readonly detail: string }

/** Does the chain still show the payment that a refund gives back? */
export type StillOwed = () => Promise<boolean>

type RefundErrand = {
  readonly lease: Lease
  /** The payment's own name on the chain: what goes back under it can go back only once. */
  readonly name: string
  /** Asked before anything is signed. */
  readonly stillOwed: StillOwed
}

/** A payment protocol, open for business. The core knows nothing else of it; another one is a folder, and a line in `rails/rails.ts`. */
export type Rail = RailTraits & {
  /** Public address of its routes. */
  readonly baseUrl: string
  readonly network: string
  /** Code of the money, as catalogs show it: `USDC`, `pathUSD`. */
  readonly currency: string
  readonly asset: Address
  readonly payTo: Address
  /** The least orphaned payment that goes back automatically: below it, to send it back may cost more than it is. */
  readonly refundAtLeast: bigint
  /** Loads beforehand what its first payment would have to wait for. */
  warmUp?(): Promise<void>
  /** Made once for each resource that is sold; each call of it is a fresh 402. */
  challenger(resource: Resource): Challenger
  /** The credential in a request: null when absent; throws Problem when unreadable. Cheap, no cryptography. */
  read(incoming: Incoming): Credential | null
  /** The price that a challenge of ours, which still holds, asked for this very request. Null: it carries none. Asks no node. */
  quoted(credential: Credential, asked: Omit<Terms, 'price'>): Usd | null
  /** Moves nothing. Throws Problem when this credential does not pay these terms, and nothing was taken by it. */
  verify(credential: Credential, terms: Terms): Promise<Verified>
  /** The name of the payment behind a transfer to the till; null when it has none. Throws Problem while the chain does not show the transfer. */
  identityOf(transfer: { readonly transaction: Hash; readonly logIndex: number }): Promise<string | null>
  /** The transaction by which this payment reached the shop after all; null: there is none. Asked before a payer is told that nothing was taken. */
  landed(credential: Credential): Promise<Hash | null>
  /** Has the authorization expired for good, by the chain's own clock, so that neither the shop nor a stranger can settle it any more? */
  isOver(credential: Credential): Promise<boolean>
  /** Does the chain show the payment of this order, a large one by two nodes? Asked before an automatic refund. */
  isPaymentShown(order: PaidOrder): Promise<boolean>
  /** What a payer could pay with now: compared with all that they have authorized and not paid yet. */
  meansOf(payer: Address): Promise<bigint>
  /**
   * What the treasury could send back of money that was paid there: the shop sells no more than it could refund. At most some seconds old for a
   * small sale, else read at this moment. Null: the treasury itself was paid, and refunds leave from where the money came.
   */
  float(payTo: Address, sale?: bigint): Promise<bigint | null>
  /** Moves the money, or finds out whether it moved. Safe to run again at any time. What is signed is written down only under the lease. */
  settle(order: PaidOrder, lease: Lease): Promise<SettleOutcome>
  /** What proves the payment to the payer. The same bytes each time for the same settlement. */
  receipt(settlement: Settlement, orderId: string): Wire
  /** What the protocol can say of an order that is still settling; nothing where it has no form for that. */
  pendingReceipt(order: PaidOrder): Wire
  /** Sends the full amount back to the verified payer. Safe to run again: the chain refuses a second one of the same name. */
  refund(order: PaidOrder, errand: RefundErrand): Promise<RefundOutcome>
  /** Terms of this rail for machine-readable documents. */
  describe(price: Usd | null): JsonObject
  readonly documents: RailDocuments
}

/** A decoded payment header. Only its own rail can look inside `content`. */
export type Credential = {
  /** Every name the payment may be known by on the rail that read it: equal however it was encoded. */
  readonly identities: readonly string[]
  readonly proofDigest: string
  /** What it says that it pays, in atomic units: a claim, until it is verified. */
  readonly amount: bigint
  /** When the shop asked for it, as the credential itself says, in milliseconds. */
  readonly askedAt: number
  /** Read before anything is checked, so that money which has moved is never answered with "nothing was taken". */
  readonly funds: Funds
  readonly content: unknown
  /**
   * Digest of what the payer signed, the same each time that one payment is shown; a stranger who only guessed its name has another one. Null
   * for what has not even the form of a payment. Whether it is valid is not asked here: that takes a node, a clock or a secret, and another
   * replica may have better ones.
   */
  readonly signedDigest: string | null
  /** The challenge of ours that it answers, proven by our keyed digest, for whatever request and price; null: it carries none. */
  challengeOfOurs(): string | null
  /**
   * Who shows it? `buyer`: the caller knows what only the payer and the shop know. `anybody`: the proof is good, but the chain shows it to all.
   * `nobody`: the proof is false. Asked only on replay, when the digest of the proof differs.
   */
  shownBy(): Promise<'buyer' | 'anybody' | 'nobody'>
}

/** A payment of which only a part can be read. It still has a name, and may have bought when it was shown whole. */
export class SpoiltPayment extends Problem {
  /** The last part of each of its names that can still be read, whichever network and token it is for. */
  readonly handles: readonly string[]
  constructor({ code, message, extra }: Problem, handles: readonly string[]) {
    super(code, message, extra)
    this.handles = handles
  }
}

/** A name that only the payer and the shop know: no chain shows it. A caller who asks by it is the buyer. */
export function isPrivateIdentity(identity: string): boolean {
  return identity.includes('/challenge/')
}
