import { type JsonObject, stringify } from '../../base/json.ts'
import { problems } from '../../base/problem.ts'
import type { FreeRoute } from '../../domain/route.ts'
import { recipes } from '../facts/clients.ts'
import { exampleNow } from '../facts/example.ts'
import type { Facts, PricedRoute } from '../facts/facts.ts'
import { documentsOf, priceWords, steps, tagline } from '../facts/guidance.ts'
import { inlineSchema } from '../facts/json-schema.ts'
import { resourceOf } from '../shop/paid-handler.ts'

/** `/llms.txt`: what a model needs to know to shop here, and where the rest is (llmstxt.org). */
export function llmsText(facts: Facts): string {
  return `${heading(facts)}
## How to buy

${numbered(steps(facts))}

## Paid routes

${facts.paid.map(paidLine).join('\n')}

## Documents

${documentsOf(facts)
  .map(({ title, url, words }) => `- [${title}](${url}): ${words}`)
  .join('\n')}
`
}

/** `/llms-full.txt`: the whole contract as one text. */
export function llmsFullText(facts: Facts): string {
  const free = facts.routes.filter((route): route is FreeRoute => route.kind === 'free')
  return `${heading(facts)}
## How to buy

${numbered(steps(facts))}

## With stock clients

${recipes(facts)
  .map(({ title, words, language, code }) => `### ${title}\n\n${words}\n\n${fenced(language, code)}`)
  .join('\n\n')}

## Paid routes

${facts.paid.map((priced) => paidSection(facts, priced)).join('\n\n')}

## Free routes

${free.map(({ method, path, summary }) => `- ${method} ${facts.origin}${path}: ${summary}`).join('\n')}

## Errors

Every error is JSON with \`code\`, \`detail\`, \`payment.taken\` and \`retry.action\`. A 402 always means that nothing was taken.

${Object.entries(problems)
  .map(([code, { status, title, advice }]) => `- ${status} \`${code}\`: ${title}. ${advice}`)
  .join('\n')}
`
}

function heading(facts: Facts): string {
  return `# ${facts.config.service.name}\n\n> ${tagline(facts)}\n`
}

export function numbered(lines: readonly string[]): string {
  return lines.map((line, index) => `${index + 1}. ${line}`).join('\n')
}

function paidLine(priced: PricedRoute): string {
  const { method, summary, offer } = priced.route
  const { url } = resourceOf(priced.route)
  return `- ${method} ${url}: ${summary}; ${priceWords(priced)}, paid with ${offer.rail.label}`
}

function paidSection(facts: Facts, priced: PricedRoute): string {
  const { route } = priced
  const { method, description, body, offer } = route
  const fields = body ? fieldLines(inlineSchema(body, 'input')) : ['It takes no parameters.']
  return `### ${method} ${resourceOf(route).url}

${description}

Price: ${priceWords(priced)}, paid with ${offer.rail.label}.

${fields.join('\n')}${body ? `\n\n${fenced('json', stringify(exampleNow(facts, route)))}` : ''}`
}

function fieldLines({ properties = {}, required = [] }: JsonObject): readonly string[] {
  return Object.entries(properties as Record<string, JsonObject>).map(([name, { type, description, pattern }]) => {
    const need = (required as readonly string[]).includes(name) ? 'required' : 'optional'
    const form = pattern ? `, ${String(pattern)}` : ''
    return `- \`${name}\` (${String(type)}, ${need}${form})${description ? `: ${String(description)}` : ''}`
  })
}

function fenced(language: string, code: string): string {
  return `\`\`\`${language}\n${code}\n\`\`\``
}
