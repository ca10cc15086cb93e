import { stringify } from '../../base/json.ts'
import type { FreeRoute, Host } from '../../domain/route.ts'
import type { Facts } from '../facts/facts.ts'
import { docsInWords } from '../pages/docs.ts'
import { errorsMarkdown } from '../pages/errors.ts'
import { homeInWords } from '../pages/home.ts'
import type { PageInWords } from '../pages/page.ts'
import type { DocumentCache } from './document-cache.ts'
import { llmsFullText, llmsText } from './llms.ts'
import { shipped } from './shipped.ts'

type Printed = ReturnType<DocumentCache['text']>
type Handle = FreeRoute['handle']

const MARKDOWN = 'text/markdown; charset=utf-8'

/** The guide for whoever writes a client in another language, and its test vectors. */
export const signingGuide = () => shipped('signing.md')
export const signingVectors = () => shipped('signing-vectors.json')

/** What readers of Markdown look for before the text: what it is, whose, and how old. */
function withFrontMatter(about: PageInWords, write: (facts: Facts) => string): (facts: Facts) => string {
  return (facts) => {
    const matter = {
      title: about.title(facts),
      description: about.description(facts),
      canonical_url: facts.origin + about.path,
      last_updated: facts.since,
    }
    // JSON is YAML: no name of a shop can end the value that it stands in.
    const lines = Object.entries(matter).map(([name, value]) => `${name}: ${stringify(value)}`)
    return `---\n${lines.join('\n')}\n---\n\n${write(facts)}`
  }
}

/** Pages, and the text that says the same to a model: at the same address for whoever accepts Markdown, and at one of its own. */
export const mirrors = [
  { page: '/', path: '/index.md', write: withFrontMatter(homeInWords, llmsText) },
  { page: '/docs', path: '/docs.md', write: withFrontMatter(docsInWords, llmsFullText) },
  { page: '/errors', path: '/errors.md', write: errorsMarkdown },
] as const

/** The text that says what a page says. */
export function mirrorOf(page: (typeof mirrors)[number]['page']): (facts: Facts) => string {
  return mirrors.find((mirror) => mirror.page === page)!.write
}

/** Programs that read for a model, by the names that they give themselves. */
const READERS =
  /ClaudeBot|Claude-User|Claude-SearchBot|anthropic-ai|GPTBot|ChatGPT-User|OAI-SearchBot|PerplexityBot|Perplexity-User|CCBot|Google-Extended|Google-Agent|MistralAI-User|DuckAssistBot|Meta-ExternalAgent|cohere-ai/i

/** The answer depends on these, so caches must keep one for each. */
export const EITHER_FORM = { Vary: 'Accept, User-Agent' }

/** A page that is Markdown for whoever names that, and for programs that read for a model and name nothing. Whoever names HTML gets the page. */
export function inEitherForm(page: Printed, text: Printed): Handle {
  return async ({ host, header }: { host: Host; header(name: string): string | undefined }) => {
    const accept = header('accept') ?? ''
    const isText = accept.includes('text/markdown') || READERS.test(header('user-agent') ?? '')
    if (!isText || accept.includes('text/html')) return page({ host })
    const answer = await text({ host })
    return { ...answer, headers: { ...answer.headers, 'Content-Type': MARKDOWN } }
  }
}
