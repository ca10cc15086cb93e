import { Problem, type ProblemCode } from '../../base/problem.ts'
import type { Reverted } from '../../chain/contract.ts'

type Meaning = { readonly reason: RegExp; readonly code: ProblemCode; readonly detail: string }

/**
 * What a refusal of the controller, or of a token behind it, means to the user. Names are errors of our contract and of ERC-6093; the
 * sentences are those of older tokens, which speak in text. The first that fits counts.
 */
const meanings: readonly Meaning[] = [
  { reason: /^EnforcedPause$/, code: 'craft_paused', detail: 'The craft controller is paused.' },
  {
    reason: /^CollectionNotAllowed$/,
    code: 'contract_not_allowed',
    detail: 'The craft controller does not take tokens of this collection.',
  },
  {
    reason: /^NotReceived$/,
    code: 'contract_not_allowed',
    detail: 'This collection says that it moved a token and did not; it cannot be burned here.',
  },
  {
    reason: /^NotOwnedByUser$|^ERC721(NonexistentToken|IncorrectOwner)$|nonexistent token|invalid token id/i,
    code: 'nft_not_owned',
    detail: 'An NFT does not belong to the user.',
  },
  {
    reason: /^NotApprovedAlone$/,
    code: 'nft_not_approved',
    detail: 'An NFT is not approved alone for the craft controller.',
  },
  {
    reason: /^ERC20InsufficientAllowance$|(insufficient|exceeds) allowance/i,
    code: 'allowance_insufficient',
    detail: 'The allowance of the craft controller is lower than the amount.',
  },
  {
    reason: /^ERC20InsufficientBalance$|exceeds balance/i,
    code: 'balance_insufficient',
    detail: 'The user has fewer craft tokens than the amount.',
  },
  {
    reason: /^NothingToAccelerate$/,
    code: 'nothing_to_accelerate',
    detail: 'The user has no running timer; burn something first.',
  },
  {
    reason: /^OutOfBudget$/,
    code: 'quantity_out_of_range',
    detail: 'This takes more gas than one action may cost; do less at once.',
  },
  {
    reason: /^AmountTooSmall$/,
    code: 'quantity_out_of_range',
    detail: 'The amount buys less than a second; the config tells the seconds per token.',
  },
]

/** Anything else is not the user's doing: a lost role, a token that keeps a part of each transfer. */
export function refusalOf({ reason }: Reverted): Problem {
  const known = meanings.find((meaning) => meaning.reason.test(reason))
  return known
    ? new Problem(known.code, known.detail)
    : new Problem('craft_paused', `The craft controller cannot carry this out now (${reason}).`)
}
