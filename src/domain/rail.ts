import * as z from 'zod'
import type { Address, Hash } from '../base/address.ts'
import type { JsonObject } from '../base/json.ts'
import type { Usd } from '../base/money.ts'
import { Problem, type ProblemCode } from '../base/problem.ts'
import type { Lease } from './lease.ts'
import type { NewHeads } from './new-heads.ts'
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

/** What is to be known of a protocol before anybody opens it. */
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
  /** Headers that look like a payment of this protocol and are none, such as those of an earlier version: whoever sends one is told so. */
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

/** Where the published interface treats the rails differently. Every other good is sold on every rail. */
type RailPrivileges = {
  /** The gateway's paid probes are sold on it. */
  readonly hasProbes: boolean
  /** A request may name whoever pays it as the one who is served, and the player behind them is looked up. */
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

/** What a payer must agree to. Computed by us for each request; nothing of it is read from the client. */
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

/** A 402. It is what a shop says most, so what goes into its body comes as text: hardly any of it changes between two of them. */
export type ChallengeWire = Pick<Wire, 'headers'> & {
  /** Made only when it is asked for: MCP wants the challenge as a document, and HTTP has no use for it. `error` says there why it is asked. */
  meta(error: string): Wire['meta']
  /** Members of a JSON object, without its braces; they come first in the body. */
  readonly members: string
  /** What the protocol itself calls this problem; null where it has no word, and ours stands. */
  readonly problemType: string | null
}

/** Asks for money for one resource. What two of its challenges have in common is written once, when it is made. `reason` says why somebody is asked. */
export type Challenger = (terms: Terms, reason: Problem) => ChallengeWire

/** Can the money still be refused, or has it moved before we heard of it? */
export type Funds = 'authorized' | 'captured'

/** A credential that passed every check that moves no money. */
export type Payment = {
  /** Who this payment is, for ever: unique in the store. The first is the one shown to people. */
  readonly identities: readonly string[]
  /** Digest of the credential's proof: an equal one may read the stored answer without any cryptography. */
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
  /** Whose earlier failures count against it, beside the payer's own: the code of a contract wallet. */
  readonly suspects?: readonly string[] | undefined
  /** Money that has moved cannot be refused; what speaks against the purchase sends it back instead. */
  readonly objection?: Problem | undefined
}

/** Money moved, and we saw it on the chain. */
type Settlement = {
  readonly transaction: Hash
  readonly network: string
  readonly payer: Address
  readonly settledAt: number
}

/** What came of a look at a credential. Nothing has been written and nothing moved by us. */
export type Verified =
  | { readonly kind: 'pays'; readonly payment: Payment }
  /** Only money that its payer moves: the chain does not show it yet, and may never. */
  | { readonly kind: 'unseen'; readonly transaction: Hash }
  /** It reached us and buys nothing here: it goes back to where it came from. */
  | ({ readonly kind: 'orphaned' } & OrphanedPayment)

export type OrphanedPayment = {
  readonly transaction: Hash
  /** Told to whoever showed it. */
  readonly detail: string
  /** Whoever showed it may not be who paid: a hash is public, and the payment of another challenge must not go back on a stranger's word. */
  readonly mayBeAnothers: boolean
}

export type SettleOutcome =
  | { readonly kind: 'settled'; readonly settlement: Settlement }
  /** Proof that this payment did not move and that we will not move it. */
  | {
      readonly kind: 'refused'
      readonly code: ProblemCode
      readonly detail: string
      /** It passed every check and failed on the chain all the same, and that was nobody's doing but the payer's. */
      readonly isPayersFault?: boolean
      /** Its payer's own check has cost us more than any failure of a key can. */
      readonly hasBurned?: boolean
      /** Beside the payer: the code of a wallet that others may have too. */
      readonly suspects?: readonly string[]
    }
  /**
   * Nobody knows yet. Ask again; never ask for another payment. `isSeen`: it is on the chain, and not deep enough. `hasFailed`: it was mined and
   * took nothing, and only a block that replaces that one could change it; it keeps goods from nobody.
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

/** Is there still what a refund is for? */
export type StillOwed = () => Promise<boolean>

/** On whose word something counts. */
export type NodeQuorum = 'one' | 'all'

/** A payment protocol, open for business. The core knows nothing else of it; another one is a folder, and a line in `rails/rails.ts`. */
export type Rail = RailTraits & {
  /** Public address of its routes. */
  readonly baseUrl: string
  readonly network: string
  /** Code of the money, as catalogs show it: `USDC`, `pathUSD`. */
  readonly currency: string
  readonly asset: Address
  readonly payTo: Address
  /** Who tells of blocks of its chain, in which a payment that was not there may be. */
  readonly heads?: NewHeads
  /** Loads what its first payment would load otherwise. */
  warmUp?(): Promise<void>
  /** Made once for each resource that is sold; each call of it is a fresh 402. */
  challenger(resource: Resource): Challenger
  /** The credential in a request: null when absent; throws Problem when unreadable. Cheap, no cryptography. */
  read(incoming: Incoming): Credential | null
  /** Moves nothing. Throws Problem when this credential does not pay these terms, and nothing was taken by it. */
  verify(credential: Credential, terms: Terms): Promise<Verified>
  /** The name that the payment behind a transfer to us goes by; null when it has none. Throws Problem while the chain does not show it. */
  identityOf(transfer: { readonly transaction: Hash; readonly logIndex: number }): Promise<string | null>
  /** Every name that the chain may show this payment by, also those that take work to find out. Asks nobody. */
  namesOf(credential: Credential): Promise<readonly string[]>
  /**
   * Has this payment reached us after all? Asked before anybody is told that an order was given up and nothing was taken: of `all` nodes, and it
   * throws Problem where too few of them answer; or of `one`, for what was never taken on and fails by itself.
   */
  landed(credential: Credential, word: NodeQuorum): Promise<Hash | null>
  /** Is the time of a promise over for good, by the chain's own clock, so that nobody can bring it there any more? */
  isOver(credential: Credential): Promise<boolean>
  /** Does the chain show what this order was paid with, and two nodes the same where there are two? Asked before anything goes back that nobody decided about. */
  isConfirmedByNodes(order: PaidOrder): Promise<boolean>
  /** What a payer could pay with now: held against all that they have promised and not paid yet. */
  meansOf(payer: Address): Promise<bigint>
  /** What is there to send back, at most some seconds old: more is not sold than could be refunded. */
  float(): Promise<bigint>
  /** Moves the money, or finds out whether it moved. Safe to run again at any time. What is signed is written down only under the lease. */
  settle(order: PaidOrder, lease: Lease): Promise<SettleOutcome>
  /** What proves the payment to the payer. The same bytes each time for the same settlement. */
  receipt(settlement: Settlement, orderId: string): Wire
  /** What an order that is still settling can say, where the protocol has a word for it. */
  pendingReceipt(order: PaidOrder): Wire
  /** Sends the full amount back to the verified payer. Journaled, under the lease; safe to run again. Nothing is signed that is not owed any more. */
  refund(order: PaidOrder, lease: Lease, stillOwed: StillOwed): Promise<RefundOutcome>
  /** Terms of this rail for machine-readable documents. */
  describe(price: Usd | null): JsonObject
  readonly documents: RailDocuments
}

/** A token on a network. */
export type Token = { readonly network: string; readonly asset: Address }

/** A decoded payment header. Only its own rail can look inside `content`. */
export type Credential = {
  /**
   * Every name the payment may be known by, read out of the credential: equal however it was encoded. What says that it pays on another
   * network has the name that it goes by there, too, because others may sell there, or this shop did.
   */
  readonly identities: readonly string[]
  /** What it says that it pays in: a claim, until it is verified. Null where it says nothing that could be a token. */
  readonly paysIn: Token | null
  readonly proofDigest: string
  /** What it says that it pays, in atomic units: a claim, until it is verified. */
  readonly amount: bigint
  /** When its payer was asked for it, by its own word, in milliseconds. Null: it does not say. */
  readonly askedAt: number | null
  /** Read before anything is checked: whatever comes of it, money that has moved is never answered with "nothing was taken". */
  readonly funds: Funds
  readonly content: unknown
  /**
   * Digest of what its payer signed, the same each time that one payment is shown: whoever guessed a payment's name has another one. Null
   * for what has not even the form of a payment. Whether it is one is not asked here: that takes a node, a clock or a secret, and another
   * replica may have a better one.
   */
  readonly signedDigest: string | null
  /**
   * Who shows it? The `buyer`, who knows what only the payer and we know; `anybody`, who shows a good proof that the chain shows to all;
   * or `nobody`, whose proof is none. Asked only on replay, when the digest of the proof differs.
   */
  shownBy(): Promise<'buyer' | 'anybody' | 'nobody'>
}

/** A payment that cannot be read whole. What names it is there all the same, and it may have bought when nothing of it was lost. */
export class SpoiltPayment extends Problem {
  /** The last part of each of its names that is left, whichever network and token it is for. */
  readonly handles: readonly string[]
  constructor({ code, message, extra }: Problem, handles: readonly string[]) {
    super(code, message, extra)
    this.handles = handles
  }
}

/** A name that only the payer and we know: no chain shows it. Whoever asks by it is the buyer. */
export function isPrivateIdentity(identity: string): boolean {
  return identity.includes('/challenge/')
}
