import { type Json, stringify } from '../../base/json.ts'
import { type Html, html } from './html.ts'
import type { Shown } from './page.ts'
import type { PageContent } from './page-content.ts'

/** An answer that has no page of its own: what it is, and all that it says. */
export function jsonPage({ rows, body, request }: PageContent): Shown {
  const [row] = rows
  const title = row?.summary ?? request.path
  return {
    title,
    description: row?.description ?? title,
    path: request.path,
    main: html`<h1>${title}</h1>
${row && row.description !== title ? html`<p class="lead">${row.description}</p>` : []}
<p class="soft">This is what a program is answered at <code>${row?.method ?? 'GET'} ${request.path.slice(0, 200)}</code>.</p>
${codeBlock(title, stringify(body as Json, 2))}`,
  }
}

export function codeBlock(label: string, text: string): Html {
  return html`<pre tabindex="0" role="region" aria-label="${label}"><code>${text}</code></pre>`
}
