import { cataloguePage } from './catalogue-page.ts'
import { itemPage } from './item-page.ts'
import { jsonPage } from './json-page.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'
import { paidPage } from './paid-page.ts'
import { paymentPage } from './payment-page.ts'
import { problemPage } from './problem-page.ts'
import { sandboxPage } from './sandbox-page.ts'

/** Which page tells an answer: by its row and by what is in it, never by a list of addresses. */
export function pageFor(told: PageContent): Shown {
  const { rows, status, body } = told
  const paid = rows.find((row) => row.kind === 'paid')
  if (paid && (status === 402 || status === 405)) return paidPage(told)
  if (status >= 400) return problemPage(told)
  if (body['mode'] === 'sandbox') return sandboxPage(told)
  if (Array.isArray(body['items'])) return cataloguePage(told)
  if (typeof body['catalogId'] === 'string') return itemPage(told)
  if (typeof body['payment'] === 'object' || typeof body['paymentTx'] === 'string' || 'history' in body)
    return paymentPage(told)
  return jsonPage(told)
}
