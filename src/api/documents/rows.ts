import * as z from 'zod'
import { type JsonObject, stringify } from '../../base/json.ts'
import { mcpBaseUrl } from '../../config/config.ts'
import { free, type Host, type Route } from '../../domain/route.ts'
import { createFacts, type FactsOptions, type FactsSource, SANDBOX_PATH } from '../facts/facts.ts'
import { railFacts } from '../facts/rail-facts.ts'
import { docsHeaders, docsPage } from '../pages/docs.ts'
import { errorsRoute } from '../pages/errors.ts'
import { homeHeaders, homePage } from '../pages/home.ts'
import { API_CATALOG_TYPE, apiCatalog, apiCatalogSchema, linkHeader, robotsText } from './crawlers.ts'
import { createDocumentCache, type DocumentCache } from './document-cache.ts'
import { eventsContract } from './events-contract.ts'
import { llmsFullText, llmsText } from './llms.ts'
import { EITHER_FORM, inEitherForm, mirrorOf, mirrors, signingGuide, signingVectors } from './markdown.ts'
import {
  AI_CATALOG_TYPE,
  aiCatalog,
  aiCatalogSchema,
  CARD_TYPE,
  registryEntry,
  registryEntrySchema,
  serverCard,
  serverCardSchema,
} from './mcp-card.ts'
import { fullContract, payableContract } from './openapi.ts'
import { sandboxContract } from './sandbox-contract.ts'
import { pageListText, sitemapMarkdown, sitemapText } from './sitemap.ts'
import { skillIndex, skillIndexSchema, skillText } from './skill.ts'

const MARKDOWN = 'text/markdown; charset=utf-8'
const PLAIN = 'text/plain; charset=utf-8'
const HTML = 'text/html; charset=utf-8'

/** How long a client may keep what is not about one moment. */
const cache = { maxAgeSeconds: 300 } as const
const openapiSchema = z.looseObject({ openapi: z.literal('3.1.0') })

type DocumentOptions = Omit<FactsOptions, 'routes'> & {
  /** Every other row of the table. */
  readonly others: readonly Route[]
}

const everywhere = { host: 'both', cache } as const

/** The rows, and what they are written from. */
type Documents = { readonly rows: readonly Route[]; readonly factsOf: FactsSource }

/** What agents, crawlers and people read of this shop. All of it is written from the rows of the table. */
export function createDocuments(options: DocumentOptions): Documents {
  const { config, others } = options
  const { indexVerification } = config.service
  const factsOf = createFacts({ ...options, routes: () => [...others, ...rows] })
  const printed = createDocumentCache(factsOf)
  const sandboxUrl = others.some(({ path }) => path === SANDBOX_PATH) ? SANDBOX_PATH : null
  const made: readonly Route[] = [
    ...pageRows(printed),
    errorsRoute({ origin: config.http.baseUrl, config, sandboxUrl }),
    ...contractRows(printed),
    ...(sandboxUrl === null ? [] : [sandboxContractRow(printed)]),
    ...protocolRows(options, printed),
    ...mcpRows(mcpBaseUrl(options.config.http), printed),
    ...modelRows(printed),
    ...crawlerRows(printed),
    ...(indexVerification === null ? [] : [verificationRow(indexVerification)]),
  ]
  const rows = made.map((row) => (row.kind === 'free' ? { ...row, isDocument: true } : row))
  return { rows, factsOf }
}

function pageRows(printed: DocumentCache): readonly Route[] {
  return [
    free('GET /', {
      ...everywhere,
      summary: 'This shop, for people',
      contentType: HTML,
      handle: inEitherForm(
        printed.text(homePage, { ...homeHeaders, Link: linkHeader(), ...EITHER_FORM }),
        printed.text(mirrorOf('/'), { Link: linkHeader(), ...EITHER_FORM }),
      ),
    }),
    free('GET /docs', {
      ...everywhere,
      summary: 'Both contracts, in a viewer',
      contentType: HTML,
      handle: inEitherForm(
        printed.text(docsPage, { ...docsHeaders, ...EITHER_FORM }),
        printed.text(mirrorOf('/docs'), EITHER_FORM),
      ),
    }),
    ...mirrors.map(({ page, path, write }) =>
      free(`GET ${path}`, {
        ...everywhere,
        summary: `What ${page} says, as Markdown`,
        contentType: MARKDOWN,
        handle: printed.text(write),
      }),
    ),
  ]
}

function contractRows(printed: DocumentCache): readonly Route[] {
  return [
    free('GET /openapi.json', {
      ...everywhere,
      summary: 'The contract of the paid operations',
      result: openapiSchema,
      handle: printed.prepared(payableContract),
    }),
    free('GET /openapi.full.json', {
      ...everywhere,
      summary: 'The contract of the free operations and webhooks',
      result: openapiSchema,
      handle: printed.prepared(fullContract),
    }),
    free('GET /openapi.events.json', {
      ...everywhere,
      summary: 'The contract of what the shop tells by itself: webhooks, and the log of events',
      result: openapiSchema,
      handle: printed.json(eventsContract),
    }),
  ]
}

function sandboxContractRow(printed: DocumentCache): Route {
  return free('GET /openapi.sandbox.json', {
    ...everywhere,
    summary: 'The contract of the tools of the sandbox',
    result: openapiSchema,
    handle: printed.json(sandboxContract),
  })
}

function modelRows(printed: DocumentCache): readonly Route[] {
  return [
    free('GET /llms.txt', {
      ...everywhere,
      summary: 'How to buy here, for models',
      contentType: PLAIN,
      handle: printed.text(llmsText),
    }),
    free('GET /llms-full.txt', {
      ...everywhere,
      summary: 'The whole contract as one text',
      contentType: PLAIN,
      handle: printed.text(llmsFullText),
    }),
    free('GET /skill.md', {
      ...everywhere,
      summary: 'This shop as an Agent Skill',
      contentType: MARKDOWN,
      handle: printed.text(skillText),
    }),
    free('GET /signing.md', {
      ...everywhere,
      summary: 'How to sign a payment without a stock client',
      contentType: MARKDOWN,
      handle: printed.text(signingGuide),
    }),
    free('GET /signing-vectors.json', {
      ...everywhere,
      summary: 'Test vectors for whoever signs payments themselves',
      result: z.looseObject({ about: z.string() }),
      handle: printed.text(signingVectors),
    }),
    free('GET /.well-known/agent-skills/index.json', {
      ...everywhere,
      summary: 'Agent Skills of this host',
      result: skillIndexSchema,
      handle: printed.json(skillIndex),
    }),
  ]
}

function crawlerRows(printed: DocumentCache): readonly Route[] {
  return [
    free('GET /.well-known/api-catalog', {
      ...everywhere,
      summary: 'The APIs of this host (RFC 9727)',
      contentType: API_CATALOG_TYPE,
      result: apiCatalogSchema,
      handle: printed.json(apiCatalog),
    }),
    free('GET /robots.txt', {
      ...everywhere,
      summary: 'What crawlers may read',
      contentType: PLAIN,
      handle: printed.text(robotsText),
    }),
    free('GET /sitemap.xml', {
      ...everywhere,
      summary: 'Which lists of pages this host has',
      contentType: 'application/xml',
      handle: printed.text(sitemapText),
    }),
    free('GET /sitemap-pages.xml', {
      ...everywhere,
      summary: 'Pages of this host',
      contentType: 'application/xml',
      handle: printed.text(pageListText),
    }),
    free('GET /sitemap.md', {
      ...everywhere,
      summary: 'Pages and documents of this host, for models',
      contentType: MARKDOWN,
      handle: printed.text(sitemapMarkdown),
    }),
  ]
}

function verificationRow(indexVerification: string): Route {
  return free('GET /.well-known/402index-verify.txt', {
    ...everywhere,
    summary: 'Proof for 402index.io',
    contentType: PLAIN,
    handle: async () => ({ body: indexVerification }),
  })
}

/** A protocol that is switched off has no documents; at a host that sells nothing for it, they are elsewhere. */
function protocolRows({ context, others }: DocumentOptions, printed: DocumentCache): readonly Route[] {
  return context.rails.flatMap((rail) => {
    const routes = others.filter((route) => route.kind === 'paid' && route.offer.rail === rail)
    if (routes.length === 0) return []
    const host = routes.some(({ host }) => host === 'both') ? 'both' : rail.baseUrl
    return rail.documents.own.map(({ path, summary, schema, isPaged = false, write }) => {
      const handle = printed.json((facts) => write(railFacts(facts, rail)))
      const row = { host, cache, summary, result: schema } as const
      return isPaged ? pagedRow(`GET ${path}`, row, handle) : free(`GET ${path}`, { ...row, handle })
    })
  })
}

/** Readers send more than these two; what we do not know is not for us. */
const pageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).optional(),
  offset: z.coerce.number().int().min(0).default(0),
})

/** A list that may be asked for in parts. */
function pagedRow(
  key: `GET /${string}`,
  row: { readonly host: Host; readonly cache: typeof cache; readonly summary: string; readonly result: z.ZodType },
  whole: ReturnType<DocumentCache['json']>,
): Route {
  return free(key, {
    ...row,
    query: pageQuery,
    async handle({ host, query: { limit, offset } }) {
      const answer = await whole({ host })
      if (limit === undefined && offset === 0) return answer
      const { items, ...rest } = JSON.parse(answer.body as string) as { readonly items: readonly JsonObject[] }
      const part = items.slice(offset, offset + (limit ?? items.length))
      const pagination = { limit: limit ?? items.length, offset, total: items.length }
      return { body: stringify({ ...rest, items: part, pagination }) }
    },
  })
}

/** What tells of `/mcp` is where that is. */
function mcpRows(host: Host, printed: DocumentCache): readonly Route[] {
  const card = {
    host,
    cache: { maxAgeSeconds: 3_600 },
    summary: 'The MCP server of this shop',
    contentType: CARD_TYPE,
    result: serverCardSchema,
  } as const
  return [
    free('GET /mcp/server-card', { ...card, handle: printed.json(serverCard) }),
    free('GET /.well-known/mcp/server-card.json', { ...card, handle: printed.json(serverCard) }),
    free('GET /.well-known/mcp/server.json', {
      ...card,
      summary: 'The MCP server, for the MCP registry',
      contentType: 'application/json',
      result: registryEntrySchema,
      handle: printed.json(registryEntry),
    }),
    free('GET /.well-known/ai-catalog.json', {
      ...card,
      summary: 'AI artifacts of this host',
      contentType: AI_CATALOG_TYPE,
      result: aiCatalogSchema,
      handle: printed.json(aiCatalog),
    }),
  ]
}
