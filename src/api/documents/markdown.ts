import { readFileSync } from 'node:fs'
import type { FreeRoute, Host } from '../../domain/route.ts'
import { errorsMarkdown } from '../pages/errors.ts'
import type { DocumentCache } from './document-cache.ts'
import { llmsFullText, llmsText } from './llms.ts'

type Printed = ReturnType<DocumentCache['text']>
type Handle = FreeRoute['handle']

const MARKDOWN = 'text/markdown; charset=utf-8'
const fileOf = (name: string) => readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8')

/** The guide for whoever writes a client in another language, and its test vectors. */
export const signingGuide = () => fileOf('signing.md')
export const signingVectors = () => fileOf('signing-vectors.json')

/** Pages, and the text that says the same to a model: at the same address for whoever accepts Markdown, and at one of its own. */
export const mirrors = [
  { page: '/', path: '/index.md', write: llmsText },
  { page: '/docs', path: '/docs.md', write: llmsFullText },
  { page: '/errors', path: '/errors.md', write: errorsMarkdown },
] as const

/** A page that is Markdown for whoever names that, and does not name HTML. */
export function inEitherForm(page: Printed, text: Printed): Handle {
  return async ({ host, header }: { host: Host; header(name: string): string | undefined }) => {
    const accept = header('accept') ?? ''
    if (!accept.includes('text/markdown') || accept.includes('text/html')) return page({ host })
    const answer = await text({ host })
    return { ...answer, headers: { ...answer.headers, 'Content-Type': MARKDOWN } }
  }
}
