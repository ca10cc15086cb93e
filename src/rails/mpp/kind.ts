import type { RailKind } from '../kind.ts'
import { accountOf } from './account.ts'
import { traits } from './traits.ts'

/** Challenges of ours, paid with a transaction on Tempo that the payer signs and we send, or that the payer has sent. */
export const mpp: RailKind = {
  ...traits,
  baseUrl: ({ baseUrl }) => baseUrl,
  accounts: ({ mpp, retired }) => [
    ...(mpp ? [accountOf(mpp, { isSelling: true })] : []),
    ...retired.flatMap(({ rail, config }) => (rail === 'mpp' ? [accountOf(config, { isSelling: false })] : [])),
  ],
}
