/** What happened to the payer's money, as far as this answer can know. */
export type Taken = false | true | 'unknown'

/** What a client should do next. */
export type RetryAction = 'none' | 'fix_request' | 'fix_state' | 'wait_same_credential' | 'poll' | 'new_payment'

export type ProblemKind = {
  readonly status: number
  readonly title: string
  readonly taken: Taken
  readonly action: RetryAction
  /** One sentence for the recovery matrix: what the reader does now. */
  readonly advice: string
}

export const fixRequest = { taken: false, action: 'fix_request' } as const
export const fixState = { taken: false, action: 'fix_state' } as const
export const payAgain = { taken: false, action: 'new_payment' } as const
export const waitSame = { taken: false, action: 'wait_same_credential' } as const

export const CORRECT = 'Correct the request as the detail says and send it again; nothing was charged.'
export const PAY_AGAIN = 'Nothing was taken. Pay the challenge in this answer with the same body.'
export const RETRY_SAME =
  'Nothing was taken. Wait, then send the same request with the same credential; sign again only if it expired.'
export const FIX_STATE =
  'Nothing was taken. Change what the detail names, then send the same credential while it is valid.'
export const OTHER_PAYER = 'Nothing was taken. This payer may not do this; ask the free quote route first.'
