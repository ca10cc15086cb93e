/** US dollars in millionths. Both settlement tokens have six decimals, so one micro is one atomic unit of either. */
export type Usd = bigint & { readonly __usd: unique symbol }

const DECIMALS = 6
const PATTERN = /^(0|[1-9]\d{0,29})(?:\.(\d{1,6}))?$/

/** Reads a decimal such as `9.00` or `0.001`. Refuses signs, exponents, leading zeros and more than six decimals. */
export function parseUsd(decimal: string): Usd {
  const match = PATTERN.exec(decimal)
  if (!match)
    throw new TypeError(`not an amount of US dollars with at most ${DECIMALS} decimals: ${decimal.slice(0, 40)}`)
  const [, whole = '0', fraction = ''] = match
  return BigInt(whole + fraction.padEnd(DECIMALS, '0')) as Usd
}

/** Prints at least two decimals and never a needless zero after them: `9.00`, `0.001`, `1.5` becomes `1.50`. */
export function formatUsd(amount: Usd): string {
  const digits = amount.toString().padStart(DECIMALS + 1, '0')
  const fraction = digits.slice(-DECIMALS).replace(/0{1,4}$/, '')
  return `${digits.slice(0, -DECIMALS)}.${fraction}`
}

/** The same for what may be less than nothing: what is left of a day on which more went back than came in. */
export function formatSigned(micros: bigint): string {
  return micros < 0n ? `-${formatUsd(usd(-micros))}` : formatUsd(usd(micros))
}

export function usd(micros: bigint): Usd {
  if (micros < 0n) throw new TypeError('an amount of US dollars is never negative')
  return micros as Usd
}

/** For figures that somebody looks at, never for sums that somebody is owed. */
export function usdNumber(micros: bigint): number {
  return Number(micros) / 10 ** DECIMALS
}

export function times(unit: Usd, quantity: number): Usd {
  return usd(unit * BigInt(quantity))
}

/** Takes basis points off a price, rounded up to the next micro so that a discount never makes a priced good free. */
export function discounted(price: Usd, basisPoints: number): Usd {
  const kept = 10_000n - BigInt(basisPoints)
  return usd((price * kept + 9_999n) / 10_000n)
}

/** The lowest and the highest of some prices, or null when there are none. */
export function rangeOf(prices: readonly Usd[]): { readonly lowest: Usd; readonly highest: Usd } | null {
  const sorted = prices.toSorted((a, b) => (a < b ? -1 : 1))
  const [lowest, highest] = [sorted[0], sorted.at(-1)]
  return lowest === undefined || highest === undefined ? null : { lowest, highest }
}
