import * as z from 'zod'
import { type JsonObject, stringify } from '../../base/json.ts'
import { once } from '../../base/once.ts'
import { type ProblemCode, problems } from '../../base/problem.ts'
import type { ProblemKind, RetryAction } from '../../base/problem-kind.ts'
import { free, type Route } from '../../domain/route.ts'
import { type Html, html } from './html.ts'
import { articleData, markdownLink, pageHeaders, printPage, type Site } from './page.ts'
import { type TableRow, table } from './table.ts'

// The recovery matrix, printed from the problem table: a page for people, JSON for agents, Markdown for the repository.

const actions: Readonly<Record<RetryAction, string>> = {
  none: 'Do not repeat this request with this payer.',
  fix_request: 'Correct the request, then send it again.',
  fix_state: 'Change what the detail names, then send the same credential while it is valid.',
  wait_same_credential: 'Wait for Retry-After, then send the very same request with the same credential.',
  poll: 'Read retry.statusUrl until it answers 200. Do not pay again.',
  new_payment: 'Nothing was taken. Pay the challenge in the answer.',
}

type Row = ProblemKind & { readonly code: ProblemCode }

function rows(): readonly Row[] {
  return Object.entries(problems).map(([code, kind]) => ({ code: code as ProblemCode, ...kind }))
}

function byStatus(): ReadonlyMap<number, readonly Row[]> {
  return Map.groupBy(
    rows().toSorted((a, b) => a.status - b.status),
    ({ status }) => status,
  )
}

const errorsSchema = z
  .object({
    actions: z.record(z.string(), z.string()).describe('What each `retry.action` asks for'),
    errors: z.array(
      z.object({
        code: z.string(),
        status: z.int(),
        title: z.string(),
        taken: z.union([z.boolean(), z.literal('unknown')]).describe('Unless the answer itself says otherwise'),
        action: z.string(),
        advice: z.string(),
      }),
    ),
  })
  .meta({ id: 'Errors', description: 'Every error this shop answers, and what to do about each' })

export function errorsRoute(site: Site): Route {
  const json = once(() => stringify(errorsDocument()))
  const page = once(() => errorsHtml(site))
  const text = once(errorsMarkdown)
  const headers = pageHeaders()
  return free('GET /errors', {
    host: 'both',
    summary: 'Every error code, whether money moved, and what to do next',
    result: errorsSchema,
    // Either form is acceptable, so this row is not held to JSON.
    contentType: 'text/html; charset=utf-8',
    cache: { maxAgeSeconds: 300 },
    async handle({ header }) {
      const wantsHtml = /\btext\/html\b/i.test(header('accept') ?? '')
      if (!wantsHtml && /\btext\/markdown\b/i.test(header('accept') ?? ''))
        return { body: text(), headers: { Vary: 'Accept', 'Content-Type': 'text/markdown; charset=utf-8' } }
      return wantsHtml
        ? { body: page(), headers: { ...headers, Vary: 'Accept' } }
        : { body: json(), headers: { Vary: 'Accept', 'Content-Type': 'application/json' } }
    },
  })
}

function errorsDocument(): JsonObject {
  return {
    actions,
    errors: rows().map(({ code, status, title, taken, action, advice }) => ({
      code,
      status,
      title,
      taken,
      action,
      advice,
    })),
  }
}

function errorsHtml(site: Site): string {
  const shown = {
    title: 'Errors, and what to do about them',
    description: 'Every error code of this shop, whether money moved, and what to do next.',
    path: '/errors',
  }
  return printPage(site, {
    ...shown,
    head: html`${markdownLink('/errors.md')}${articleData(site.origin, shown)}`,
    main: html`<h1>Errors, and what to do about them</h1>
<p>Every error body names its <code>code</code>, says in <code>payment.taken</code> whether money moved, and in <code>retry.action</code> what to do next. A 402 always means that nothing was taken and paying is safe. Ask with <code>Accept: application/json</code> for this page as data.</p>
<dl>${Object.entries(actions).map(([action, meaning]) => html`<dt><code>${action}</code></dt><dd>${meaning}</dd>`)}</dl>
${[...byStatus()].map(htmlSection)}`,
  })
}

function htmlSection([status, group]: readonly [number, readonly Row[]]): Html {
  const columns = ['Code', 'Meaning', 'Money taken', 'What to do']
  return html`<h2>${status}</h2>
${table(`Errors with status ${status}`, columns, group.map(tableRow))}`
}

function tableRow({ code, title, taken, action, advice }: Row): TableRow {
  return {
    id: code,
    cells: [html`<code>${code}</code>`, title, takenWord(taken), html`<span><code>${action}</code>: ${advice}</span>`],
  }
}

function takenWord(taken: ProblemKind['taken']): string {
  return taken === 'unknown' ? 'unknown' : taken ? 'yes' : 'no'
}

/** `docs/errors.md`. */
export function errorsMarkdown(): string {
  const tables = [...byStatus()].map(([status, group]) => {
    const told = group.map(({ code, title, taken, action, advice }) => [
      `\`${code}\``,
      title,
      takenWord(taken),
      `\`${action}\`: ${advice}`,
    ])
    return `## ${status}\n\n${markdownTable([['Code', 'Meaning', 'Money taken', 'What to do'], ...told])}\n`
  })
  const words = Object.entries(actions).map(([action, meaning]) => `- \`${action}\`: ${meaning}`)
  return `# Errors, and what to do about them

Printed from \`src/base/problems.ts\` and the \`problems.ts\` of each surface by \`npm run docs\`; change it there.

Every error body names its \`code\`, says in \`payment.taken\` whether money moved, and in \`retry.action\` what to do next. A 402 always
means that nothing was taken and paying is safe. A running shop serves this page at \`/errors\`, as HTML or as JSON.

${words.join('\n')}

${tables.join('\n')}`
}

/** In columns, as the formatter of this repository has it. */
function markdownTable(lines: readonly (readonly string[])[]): string {
  const [head = [], ...rest] = lines
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  const rule = widths.map((width) => '-'.repeat(width))
  return [head, rule, ...rest]
    .map((line) => `| ${line.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`)
    .join('\n')
}
