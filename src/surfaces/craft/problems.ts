import { declareProblems } from '../../base/problem.ts'
import { CORRECT, FIX_STATE, fixRequest, fixState, OTHER_PAYER, type ProblemKind } from '../../base/problem-kind.ts'

const own = declareProblems({
  duplicate_nft: { status: 400, title: 'NFT listed twice', ...fixRequest, advice: CORRECT },
  payer_not_user: { status: 403, title: 'Payer is not the user', taken: false, action: 'none', advice: OTHER_PAYER },
  contract_not_allowed: {
    status: 403,
    title: 'Collection is not allowed',
    taken: false,
    action: 'none',
    advice: OTHER_PAYER,
  },
  nft_not_owned: {
    status: 403,
    title: 'NFT is not owned by the user',
    taken: false,
    action: 'none',
    advice: OTHER_PAYER,
  },
  nft_not_approved: { status: 409, title: 'NFT is not approved', ...fixState, advice: FIX_STATE },
  approval_too_wide: { status: 403, title: 'Approval is wider than the action', ...fixState, advice: FIX_STATE },
  nft_in_use: {
    status: 409,
    title: 'NFT is locked by another action',
    ...fixState,
    advice: 'Nothing was taken. Wait until the other action ends.',
  },
  allowance_insufficient: { status: 409, title: 'Allowance is too low', ...fixState, advice: FIX_STATE },
  balance_insufficient: { status: 409, title: 'Balance is too low', ...fixState, advice: FIX_STATE },
  nothing_to_accelerate: { status: 409, title: 'No running timer', ...fixState, advice: FIX_STATE },
  craft_paused: {
    status: 409,
    title: 'Crafting is paused',
    ...fixState,
    advice: 'Nothing was taken. Wait until the controller is unpaused.',
  },
} as const)

declare module '../../base/problem.ts' {
  interface DeclaredProblems extends Record<keyof typeof own, ProblemKind> {}
}
