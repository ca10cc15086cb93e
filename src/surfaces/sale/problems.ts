import { declareProblems } from '../../base/problem.ts'
import { CORRECT, FIX_STATE, fixRequest, fixState, type ProblemKind } from '../../base/problem-kind.ts'

const own = declareProblems({
  invalid_beneficiary: { status: 400, title: 'Beneficiary cannot be used', ...fixRequest, advice: CORRECT },
  sale_not_found: {
    status: 404,
    title: 'No such sale',
    ...fixRequest,
    advice: 'Read /catalog for the live sale ids; nothing was charged.',
  },
  sold_out: {
    status: 409,
    title: 'Sold out',
    ...fixState,
    advice: 'Nothing was taken. Choose another lot, or a smaller quantity.',
  },
  sale_not_active: { status: 409, title: 'Sale is not open', ...fixState, advice: FIX_STATE },
  beneficiary_rejects: { status: 409, title: 'Beneficiary cannot receive this NFT', ...fixState, advice: FIX_STATE },
} as const)

declare module '../../base/problem.ts' {
  interface DeclaredProblems extends Record<keyof typeof own, ProblemKind> {}
}
