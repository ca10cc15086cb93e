import {
  CORRECT,
  FIX_STATE,
  fixRequest,
  fixState,
  OTHER_PAYER,
  PAY_AGAIN,
  type ProblemKind,
  payAgain,
  RETRY_SAME,
  waitSame,
} from './problem-kind.ts'

/** Errors that any route may answer. Those of one family of goods alone are declared where it is. */
export const commonProblems = {
  // The request can never work as written.
  invalid_json: { status: 400, title: 'Body is not valid JSON', ...fixRequest, advice: CORRECT },
  invalid_request: { status: 400, title: 'Request does not match the schema', ...fixRequest, advice: CORRECT },
  unknown_property: { status: 400, title: 'Unknown property', ...fixRequest, advice: CORRECT },
  duplicate_key: { status: 400, title: 'Key given twice', ...fixRequest, advice: CORRECT },
  too_deep: { status: 400, title: 'Body nests too deep', ...fixRequest, advice: CORRECT },
  token_id_out_of_range: { status: 400, title: 'Token id out of range', ...fixRequest, advice: CORRECT },
  quantity_out_of_range: { status: 400, title: 'Quantity out of range', ...fixRequest, advice: CORRECT },
  bad_checksum: { status: 400, title: 'Address checksum is wrong', ...fixRequest, advice: CORRECT },
  placeholder: {
    status: 400,
    title: 'A placeholder of our examples was sent',
    ...fixRequest,
    advice: 'Nothing was taken. Put your own address or name where the detail says, and send it again.',
  },
  recipient_rule: { status: 400, title: 'Give exactly one recipient', ...fixRequest, advice: CORRECT },
  payment_payload_invalid: {
    status: 400,
    title: 'Payment header cannot be read',
    ...fixRequest,
    advice: 'Nothing was taken. Rebuild the header from the last 402; the same signature may be used again.',
  },
  ambiguous_payment: {
    status: 400,
    title: 'More than one payment was sent',
    // None was looked at, and any of them may have been made before.
    taken: 'unknown',
    action: 'fix_request',
    advice: 'None of them was looked at. Send exactly one payment header, once.',
  },

  // Pay. Always true of these: nothing was taken, paying is safe.
  payment_required: {
    status: 402,
    title: 'Payment required',
    ...payAgain,
    advice: 'Pay the challenge and repeat the request with the same body.',
  },
  payment_misplaced: {
    status: 402,
    title: 'Payment is in the wrong place',
    ...payAgain,
    advice:
      'Nothing was taken. Send a payment of the protocol and version, in the header and to the address, that the detail and `payment.wanted` name.',
  },
  malformed_credential: { status: 402, title: 'Credential cannot be read', ...payAgain, advice: PAY_AGAIN },
  invalid_challenge: {
    status: 402,
    title: 'Challenge is not ours or does not fit this route',
    ...payAgain,
    advice: PAY_AGAIN,
  },
  payment_verification_failed: { status: 402, title: 'Payment does not verify', ...payAgain, advice: PAY_AGAIN },
  payment_terms_mismatch: { status: 402, title: 'Payment is for other terms', ...payAgain, advice: PAY_AGAIN },
  payment_amount_mismatch: { status: 402, title: 'Payment is for another amount', ...payAgain, advice: PAY_AGAIN },
  payment_insufficient: { status: 402, title: 'Payment is too small', ...payAgain, advice: PAY_AGAIN },
  payment_expired: { status: 402, title: 'Payment expired before it could be taken', ...payAgain, advice: PAY_AGAIN },
  payment_cancelled: { status: 402, title: 'Payment was cancelled by its signer', ...payAgain, advice: PAY_AGAIN },
  insufficient_funds: {
    status: 402,
    title: 'Payer has too little money',
    ...payAgain,
    advice: 'Nothing was taken. Fund the paying wallet, then pay the challenge in this answer.',
  },
  request_body_mismatch: {
    status: 402,
    title: 'Body differs from the one that was priced',
    ...payAgain,
    advice: 'Nothing was taken. Pay the challenge in this answer, which is for the body you just sent.',
  },

  // Wrong who.
  payer_blocked: { status: 403, title: 'Payer is blocked', taken: false, action: 'none', advice: OTHER_PAYER },
  operator_only: {
    status: 401,
    title: 'Operator token needed',
    taken: false,
    action: 'none',
    advice: 'Send Authorization: Bearer with the operator token.',
  },

  not_from_console: {
    status: 403,
    title: 'Not asked by the console itself',
    taken: false,
    action: 'none',
    advice: 'Nothing was done. The console sends these by itself; a program sends a token and no cookie.',
  },
  sign_in_refused: {
    status: 401,
    title: 'This does not let you in',
    taken: false,
    action: 'none',
    advice: 'Links work once and for 15 minutes. Ask an admin for another one: sutler operators link <name>.',
  },
  sign_in_again: {
    status: 401,
    title: 'Sign in again for this',
    taken: false,
    action: 'none',
    advice: 'Nothing was done. It needs a sign-in of this moment; the console asks for it.',
  },
  role_too_low: {
    status: 403,
    title: 'Your role may not do this',
    taken: false,
    action: 'none',
    advice: 'Nothing was done. Ask an operator whose role may, or an admin for another role.',
  },

  // Not there.
  route_not_found: {
    status: 404,
    title: 'No such route',
    ...fixRequest,
    advice: 'Read /openapi.json for the routes of this host.',
  },
  payment_not_found: {
    status: 404,
    title: 'No such payment is known here',
    taken: 'unknown',
    action: 'fix_request',
    advice:
      'If you have sent it, send the same request again with the same payment; what reached the shop without a purchase goes back.',
  },

  order_not_found: {
    status: 404,
    title: 'No such order',
    ...fixRequest,
    advice: 'Check the order id; the events and the order list show them.',
  },
  operator_not_found: {
    status: 404,
    title: 'No such operator or session',
    ...fixRequest,
    advice: 'List the operators, or the sessions, for their ids.',
  },
  webhook_not_found: {
    status: 404,
    title: 'No such webhook',
    ...fixRequest,
    advice: 'List the webhooks for their ids.',
  },

  // Wrong when.
  approval_needed: {
    status: 202,
    title: 'A second person has to approve it',
    taken: true,
    action: 'none',
    advice: 'No money was sent yet. Another operator approves it: GET /operator/approvals.',
  },
  approval_refused: {
    status: 409,
    title: 'This cannot be approved',
    taken: true,
    action: 'none',
    advice: 'No money was sent. The detail says who can approve it, or what became of it.',
  },
  refund_budget_spent: {
    status: 403,
    title: 'Your refunds of this day are used up',
    taken: true,
    action: 'none',
    advice: 'No money was sent. An admin can refund it, or you can tomorrow.',
  },
  refund_refused: {
    status: 409,
    title: 'This payment cannot be refunded',
    taken: true,
    action: 'none',
    advice:
      'No money was sent. A payment goes back once, in full, after the order has ended; the detail says what stands against it.',
  },
  changed_meanwhile: {
    status: 409,
    title: 'It changed meanwhile',
    ...fixState,
    advice: 'Nothing was done. Look at it as it is now, and decide again.',
  },
  item_unavailable: { status: 409, title: 'Item is not available', ...fixState, advice: FIX_STATE },
  idempotency_conflict: {
    status: 409,
    title: 'Idempotency key was used for another request',
    ...fixRequest,
    advice: 'This payment was not taken. Use a new key for a new request, or repeat the first request exactly.',
  },
  payment_conflict: {
    status: 409,
    title: 'Payment is bound to another request',
    taken: true,
    action: 'poll',
    advice:
      'The payment was used by its first request. Repeat that request exactly, or read its status. Do not pay again.',
  },
  payment_returned: {
    status: 409,
    title: 'Paid, but not what was asked for',
    taken: true,
    action: 'poll',
    advice:
      'The money reached us and goes back to where it came from; the status route tells how far it is. Paying the right challenge is a new payment.',
  },
  settlement_in_doubt: {
    status: 409,
    title: 'An earlier payment for this request is still unresolved',
    taken: false,
    action: 'poll',
    advice: 'This payment was not taken. Poll the first one; do not pay.',
  },
  fulfilment_failed: {
    status: 409,
    title: 'Paid, but delivery failed for good',
    taken: true,
    action: 'poll',
    advice:
      'The full amount goes back to the payer; the refund object and the status route tell how far it is. Do not pay again.',
  },

  // Still moving.
  payment_pending: {
    status: 202,
    title: 'Payment outcome is not known yet',
    taken: 'unknown',
    action: 'poll',
    advice: 'Poll the status. The same credential may be sent again; never sign a new one.',
  },
  action_pending: {
    status: 202,
    title: 'Paid, delivery is on its way',
    taken: true,
    action: 'poll',
    advice: 'Poll the status until it answers 200.',
  },

  // Slow down, or come back.
  rate_limited: {
    status: 429,
    title: 'Too many requests',
    ...waitSame,
    advice: 'Wait for Retry-After; the same credential stays usable.',
  },
  payer_throttled: {
    status: 429,
    title: 'Nothing is taken from this payer for now',
    ...waitSame,
    advice: 'Wait for Retry-After; the same credential stays usable.',
  },
  facilitator_unavailable: { status: 503, title: 'Settlement service is unavailable', ...waitSame, advice: RETRY_SAME },
  chain_unavailable: { status: 503, title: 'Chain is unavailable', ...waitSame, advice: RETRY_SAME },
  store_unavailable: { status: 503, title: 'Store is unavailable', ...waitSame, advice: RETRY_SAME },
  store_full: { status: 503, title: 'Store is full', ...waitSame, advice: RETRY_SAME },
  shop_overcommitted: { status: 503, title: 'The shop could not refund this now', ...waitSame, advice: RETRY_SAME },
  relayer_unfunded: { status: 503, title: 'The shop has no gas left', ...waitSame, advice: RETRY_SAME },
  signer_unavailable: { status: 503, title: 'A key of the shop cannot sign', ...waitSame, advice: RETRY_SAME },
  surface_closed: { status: 503, title: 'Not sold for now', ...waitSame, advice: RETRY_SAME },
  overloaded: { status: 503, title: 'Overloaded', ...waitSame, advice: RETRY_SAME },
  internal_error: {
    status: 500,
    title: 'Internal error',
    ...waitSame,
    advice: 'Nothing was taken. Try once more; if it stays, report the requestId.',
  },

  // Transport.
  body_too_large: { status: 413, title: 'Body too large', ...fixRequest, advice: CORRECT },
  unsupported_media_type: {
    status: 415,
    title: 'Body is not declared as JSON',
    ...fixRequest,
    advice: 'Send Content-Type: application/json, without compression.',
  },
  header_too_large: { status: 431, title: 'Headers too large', ...fixRequest, advice: CORRECT },
  request_timeout: { status: 408, title: 'Request took too long to arrive', ...fixRequest, advice: CORRECT },
  method_not_allowed: {
    status: 405,
    title: 'Method not allowed',
    ...fixRequest,
    advice: 'Use a method the Allow header lists.',
  },
  not_acceptable: { status: 406, title: 'JSON is not accepted', ...fixRequest, advice: 'Accept application/json.' },
  wrong_host: { status: 421, title: 'Host is not ours', ...fixRequest, advice: 'Use the base URLs of /catalog.' },
} as const satisfies Record<string, ProblemKind>
