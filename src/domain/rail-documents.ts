import type * as z from 'zod'
import type { Hex } from '../base/hex.ts'
import { type JsonObject, stringify } from '../base/json.ts'
import { PLACEHOLDER_ADDRESS } from '../base/placeholder.ts'

/** What a rail adds to the documents of a shop that sells on it. */
export type RailDocuments = {
  /** What to put into the header that carries the payment, in a sentence or two. */
  readonly credential: string
  /** What the body of its 402 has beside the members of every problem. */
  readonly challenge: z.ZodType
  /** Documents of its own. */
  readonly own: readonly RailDocument[]
  /** How to buy with the client that anybody can install. */
  recipe(facts: RailFacts, route: SoldRoute): Recipe
  /** How a page pays with a wallet of the browser: a script that puts itself into `SIGNERS`. Left out where no wallet can sign for it. */
  readonly walletScript?: string
  /** The same over MCP; left out where no such client pays a tool by itself. */
  mcpRecipe?(facts: RailFacts, route: SoldRoute): Recipe
}

export type RailDocument = {
  readonly path: `/${string}`
  readonly summary: string
  /** How the home page names it; null: it does not. */
  readonly title: string | null
  readonly schema: z.ZodType
  /** Has `items` and `pagination`, and is asked for in parts by `limit` and `offset`. */
  readonly isPaged?: boolean
  write(facts: RailFacts): JsonObject
}

/** Something to copy and run: a purchase with a client that anybody can install. */
export type Recipe = {
  readonly client: string
  readonly title: string
  readonly words: string
  readonly language: 'js' | 'sh' | 'json'
  readonly code: string
}

/** Everything that one of our hosts has to tell of one rail, at one moment. */
export type RailFacts = {
  /** Public address of this host. */
  readonly origin: string
  readonly serviceName: string
  /** What is sold here, and for which money. */
  readonly tagline: string
  /** The protocols that this shop takes, in words. */
  readonly protocols: string
  readonly proofs: readonly Hex[]
  /** When these became the facts. */
  readonly since: string
  readonly mcpUrl: string
  /** Where a new visitor of the sandbox finds keys and play money; null where money is real. */
  readonly sandboxUrl: string | null
  /** An answer comes within this, finished or not. */
  readonly answerSeconds: number
  /** How long to wait before a status is asked for again. */
  readonly statusSeconds: number
  /** The paid routes of this host on this rail. */
  readonly sold: readonly SoldRoute[]
}

/** A paid route, as documents tell of it. */
export type SoldRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly url: string
  readonly surface: string
  readonly summary: string
  readonly description: string
  readonly example: JsonObject
  /** What the example costs now, in dollars; null where nothing on the shelf says so. */
  readonly cost: string | null
  /** The MCP tool that sells the same. */
  readonly tool: string | undefined
  /** How long delivery is tried before the money goes back. */
  readonly deliverySeconds: number
  /** JSON Schema of what it takes. */
  input(): JsonObject
  /** What the contract says of its price. */
  paymentInfo(): JsonObject
  /** What the 402 of an empty call adds to its body; null when nothing is on the shelf. */
  challenge(): JsonObject | null
}

/** Whom to ask for money to try this with. */
export function needs(
  { sandboxUrl }: RailFacts,
  { cost }: SoldRoute,
  money: { readonly currency: string; readonly network: string; readonly variable: string },
): string {
  const { currency, network, variable } = money
  const words = cost ? `Costs ${cost} ${currency} on ${network} now.` : `Needs ${currency} on ${network}.`
  return sandboxUrl ? `${words} A funded ${variable} is at ${sandboxUrl}.` : words
}

/** An example as JavaScript, for whoever pays: what is the reader's own is the account that pays. */
export function exampleCode(example: JsonObject): string {
  return stringify(example).replaceAll(`"${PLACEHOLDER_ADDRESS}"`, 'account.address')
}
