import type { Visit } from './visit.ts'

// How well a program that reads for a model gets along with the shop. The questions and their weights are those of
// @vercel/agent-readability, which a test compares these with; a shop does not have that package.

type Text = { readonly isOk: boolean; readonly status: number; readonly body: string; readonly headers: Headers }

/** What was read, each thing once. */
type Reading = Readonly<Record<keyof typeof asked, Text>>

const READER = { 'user-agent': 'ClaudeBot/1.0' }
const asked = {
  llms: ['/llms.txt', {}],
  sitemap: ['/sitemap.xml', {}],
  sitemapText: ['/sitemap.md', {}],
  robots: ['/robots.txt', {}],
  page: ['/docs', {}],
  forReader: ['/docs', READER],
  negotiated: ['/docs', { accept: 'text/markdown' }],
  mirror: ['/docs.md', {}],
  missing: ['/this-page-does-not-exist', {}],
  missingForReader: ['/this-page-does-not-exist', { ...READER, accept: 'text/markdown' }],
} as const satisfies Record<string, readonly [string, Record<string, string>]>

const LARGE = 100_000
const isMarkdown = ({ isOk, body }: Text) => isOk && !/^\s*<(!|html)/.test(body) && /^(---|#)|\n#/.test(body)
const plain = (html: string) => html.replaceAll(/<(script|style)[\s\S]*?<\/\1>|<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
const fences = (text: string) => (text.match(/^(`{3,}|~{3,})/gm) ?? []).length

const REQUIRED = 3
const RECOMMENDED = 2

type Question = readonly [name: string, weight: number, isWell: (reading: Reading) => boolean]

const questions: readonly Question[] = [
  ['a page that is not there is a 404', REQUIRED, ({ missing }) => !missing.isOk],
  ['pages are open', REQUIRED, ({ page }) => page.status !== 401 && page.status !== 403],
  ['pages do not lead elsewhere', RECOMMENDED, ({ page }) => !/http-equiv=["']refresh/i.test(page.body)],
  ['llms.txt', REQUIRED, ({ llms }) => llms.isOk && llms.body.length > 50],
  ['links in llms.txt', REQUIRED, ({ llms }) => /\]\(https?:/.test(llms.body)],
  ['size of llms.txt', RECOMMENDED, ({ llms }) => llms.body.length <= LARGE],
  ['form of llms.txt', RECOMMENDED, ({ llms }) => /^# .+/m.test(llms.body)],
  ['sitemap.xml', REQUIRED, ({ sitemap }) => sitemap.isOk && sitemap.body.includes('<lastmod>')],
  ['sitemap.md', RECOMMENDED, ({ sitemapText }) => isMarkdown(sitemapText)],
  ['robots.txt', REQUIRED, ({ robots }) => robots.isOk && !/^disallow: ?\/$/im.test(robots.body)],
  ['structured data', RECOMMENDED, ({ page }) => page.body.includes('application/ld+json')],
  ['Markdown for readers', REQUIRED, ({ forReader }) => isMarkdown(forReader)],
  ['Markdown when asked for', RECOMMENDED, ({ negotiated }) => isMarkdown(negotiated)],
  ['Vary', RECOMMENDED, ({ negotiated }) => /accept/i.test(negotiated.headers.get('vary') ?? '')],
  ['Markdown mirrors', REQUIRED, ({ mirror }) => isMarkdown(mirror)],
  ['link to the mirror', RECOMMENDED, ({ page }) => page.body.includes('type="text/markdown"')],
  ['front matter', RECOMMENDED, ({ mirror }) => /^---\ntitle:[\s\S]*?last_updated:[\s\S]*?\n---/.test(mirror.body)],
  ['Markdown for a page that is not there', RECOMMENDED, ({ missingForReader }) => missingForReader.isOk],
  ['size of the Markdown', RECOMMENDED, ({ mirror }) => mirror.body.length <= LARGE],
  ['closed code blocks', RECOMMENDED, ({ mirror }) => fences(mirror.body) % 2 === 0],
  ['content without JavaScript', REQUIRED, ({ page }) => plain(page.body).length > 200],
  ['size of the page', REQUIRED, ({ page }) => plain(page.body).length <= LARGE],
  ['headings', RECOMMENDED, ({ page }) => (page.body.match(/<h[1-3]/g) ?? []).length >= 3],
  ['description', RECOMMENDED, ({ page }) => /name="description" content="[^"]{50,}"/.test(page.body)],
  ['canonical address', RECOMMENDED, ({ page }) => page.body.includes('rel="canonical"')],
]

/** A 200 for a page that is not there would be cited as if it were one. */
export const DECLINED = 'Markdown for a page that is not there'

type Readability = { readonly score: number; readonly missed: readonly string[] }

export async function readabilityOf(ask: Visit['ask']): Promise<Readability> {
  const entries = Object.entries(asked).map(async ([name, [path, headers]]) => {
    const response = await ask(path, Object.keys(headers).length > 0 ? { headers } : undefined)
    const body = await response.text()
    return [name, { isOk: response.ok, status: response.status, body, headers: response.headers }] as const
  })
  const reading = Object.fromEntries(await Promise.all(entries)) as Reading
  const missed = questions.filter(([, , isWell]) => !isWell(reading))
  const sum = (some: readonly Question[]) => some.reduce((total, [, weight]) => total + weight, 0)
  const score = Math.round(100 * (1 - sum(missed) / sum(questions)))
  return { score, missed: missed.map(([name]) => name) }
}
