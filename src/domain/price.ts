import { type Usd, usd } from '../base/money.ts'
import { isProblem, Problem } from '../base/problem.ts'
import { whenThere } from '../base/when-there.ts'
import type { LivePrice, Price } from './good.ts'
import type { Credential } from './rail.ts'

/** What a request costs, and what speaks against selling it though its money has moved. */
type Quoted = { readonly price: Usd; readonly objection?: Problem | undefined }

const NO_PRICE = usd(0n)

export function priceOf<Input>(price: Price<Input>, input: Input): Usd | Promise<Usd> {
  return price.kind === 'listed' ? price.now() : whenThere(price.of(input), assertPriced)
}

/** A transfer of nothing is no payment: what has no price, by mistake or while somebody sets it up, is not for sale. */
function assertPriced(price: Usd): Usd {
  if (price > 0n) return price
  throw new Problem('item_unavailable', 'This has no price now, so it is not for sale.')
}

/** A price question is answered with the lowest price there is; a payment of it is good only for a request that costs just that. */
export function probePrice<Input>(price: Price<Input>): Usd | Promise<Usd> {
  return price.kind === 'listed' ? price.now() : lowestPrice(price)
}

async function lowestPrice<Input>(price: LivePrice<Input>): Promise<Usd> {
  const range = await price.range()
  if (!range) throw new Problem('item_unavailable', 'Nothing is on sale here right now.')
  return range.lowest
}

/**
 * What this payment is compared with: the price that its payer was quoted, else the price now. Where nothing can be asked for the request any
 * more, money that has moved already is taken down all the same, with what speaks against it.
 */
export async function agreedPrice<Input>(
  price: Price<Input>,
  input: Input,
  quoted: Usd | null,
  { funds }: Pick<Credential, 'funds'>,
): Promise<Quoted> {
  try {
    const now = await priceOf(price, input)
    return { price: quoted ?? now }
  } catch (error) {
    if (funds !== 'captured' || !isProblem(error)) throw error
    // What the shop itself must mend is no objection: the money is there, and its good is owed as soon as that is done.
    if (error.code === 'surface_closed' && quoted !== null) return { price: quoted }
    if (error.status >= 500) throw error
    return { price: NO_PRICE, objection: error }
  }
}
