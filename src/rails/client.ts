import type { PrivateKeyAccount } from 'viem/accounts'
import type { Usd } from '../base/money.ts'
import type { RailName } from '../domain/rail.ts'

/** The buyer's side of a rail, by its stock client: the command line pays, watches and judges with it. Nothing of it runs in a shop. */
export type RailClient = {
  readonly name: RailName
  readonly label: string
  /** The header in which a paid answer proves the payment. */
  readonly receiptHeader: string
  /** Documents that only a shop which takes this protocol has. */
  readonly documents: readonly string[]
  /** Asks over the given `fetch`, pays what the 402 says, and asks again. */
  pay(purse: Purse, fetchWith: typeof fetch): Promise<typeof fetch>
  /** What the shop knows the payment in these headers by; null where none is of this rail. */
  referenceIn(headers: Headers): string | null
  /** What a 402 asks for on this rail; null when it cannot be paid so. */
  priceIn(response: Response): AskedPrice | null
  /** The transaction that an answer says paid for it. */
  settlementIn(response: Response): string | null
  /** Reads a 402 as strictly as the protocol's own tools do. Throws what they would stumble over. */
  judge(response: Response): Promise<Judgement>
  /** What is wrong with a contract, by the protocol's own tools. */
  contractErrors?(contract: object): Promise<readonly string[]>
}

export type Purse = {
  readonly account: PrivateKeyAccount
  /** Where the chain of the payment is asked, if the client asks; undefined: at the network's public address. */
  readonly rpcUrl: string | undefined
  /** No single payment may be higher. */
  readonly max: Usd
}

export type AskedPrice = {
  readonly rail: RailName
  readonly amount: Usd
  readonly asset: string
  /** Null for a money that we do not know the decimals of. */
  readonly currency: string | null
  readonly network: string
  readonly payTo: string
}

export type Judgement = {
  readonly words: string
  /** The resource that the challenge names; null where it names none. */
  readonly url: string | null
}
