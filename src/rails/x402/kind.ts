import type { RailKind } from '../kind.ts'
import { accountOf } from './account.ts'
import { traits } from './traits.ts'

/** Signed authorizations that we, or a facilitator, bring to the chain. */
export const x402: RailKind = {
  ...traits,
  baseUrl: ({ x402BaseUrl }) => x402BaseUrl,
  accounts: ({ x402, retired }) => [
    ...(x402 ? [accountOf(x402, { isSelling: true })] : []),
    ...retired.flatMap(({ rail, config }) => (rail === 'x402' ? [accountOf(config, { isSelling: false })] : [])),
  ],
}
