import type { JsonObject } from '../../base/json.ts'
import { adviceOf, type ProblemCode, problems } from '../../base/problem.ts'
import type { ProblemKind } from '../../base/problem-kind.ts'
import { type Html, html } from './html.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'

const TAKEN = {
  true: 'Money was taken.',
  false: 'No money was taken.',
  unknown: 'It is not known yet whether money moved.',
} as const

/** What went wrong, whether money moved, and what to do next. */
export function problemPage({ body, status, request }: PageContent): Shown {
  const title = String(body['title'] ?? 'Something went wrong')
  const code = String(body['code'] ?? '')
  const { taken } = (body['payment'] ?? {}) as { taken?: boolean | 'unknown' }
  const { statusUrl } = (body['retry'] ?? {}) as { statusUrl?: string | null }
  const kind: ProblemKind | undefined = problems[code as ProblemCode]
  const advice = kind && adviceOf(kind, taken)
  return {
    title: `${status}: ${title}`,
    description: String(body['detail'] ?? title),
    path: request.path,
    isIndexed: false,
    main: html`<h1>${title}</h1>
<p class="lead">${String(body['detail'] ?? '')}</p>
${taken === undefined ? [] : html`<p class="note">${TAKEN[String(taken) as keyof typeof TAKEN]}${advice ? html` ${advice}` : ''}</p>`}
${statusUrl ? html`<p><a href="${statusUrl}">How far it is now</a></p>` : []}
${routesSection(body)}
<p class="soft">Code <a href="/errors#${code}"><code>${code}</code></a>, request <code>${String(body['requestId'] ?? '')}</code>.</p>`,
  }
}

/** Only what can be opened is a link. */
function routesSection({ routes }: JsonObject): Html {
  if (!Array.isArray(routes)) return html``
  const lines = (routes as readonly string[]).map((line) => {
    const [method, path = ''] = line.split(' ')
    const isLink = method === 'GET' && !path.includes('{')
    return html`<li><code>${method ?? ''} ${isLink ? html`<a href="${path}">${path}</a>` : path}</code></li>`
  })
  return html`<p>Begin at <a href="/">the shop</a>, or at one of these:</p>
<ul class="routes">${lines}</ul>`
}
