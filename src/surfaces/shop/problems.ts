import { declareProblems } from '../../base/problem.ts'
import {
  FIX_STATE,
  fixRequest,
  fixState,
  OTHER_PAYER,
  type ProblemKind,
  RETRY_SAME,
  waitSame,
} from '../../base/problem-kind.ts'

const own = declareProblems({
  payer_mismatch: {
    status: 403,
    title: 'Payer is not the verified sender',
    taken: false,
    action: 'none',
    advice: OTHER_PAYER,
  },
  item_not_found: {
    status: 404,
    title: 'No such item',
    ...fixRequest,
    advice: 'Read /catalog for the live item ids; nothing was charged.',
  },
  recipient_not_found: {
    status: 404,
    title: 'No such player',
    ...fixRequest,
    advice: 'Check the nickname or address; nothing was charged.',
  },
  player_not_linked: {
    status: 404,
    title: 'No player is linked to this payer',
    ...fixRequest,
    advice: 'Nothing was taken. Link the paying wallet in the game first.',
  },
  purchase_limit: { status: 409, title: 'Purchase limit reached', ...fixState, advice: FIX_STATE },
  delivery_unknown: {
    status: 409,
    title: 'Paid, and the game has not said whether it delivered',
    taken: true,
    action: 'poll',
    advice: 'An operator is asked. Poll the status; do not pay again.',
  },
  game_unavailable: { status: 503, title: 'Game backend is unavailable', ...waitSame, advice: RETRY_SAME },
} as const)

declare module '../../base/problem.ts' {
  interface DeclaredProblems extends Record<keyof typeof own, ProblemKind> {}
}
