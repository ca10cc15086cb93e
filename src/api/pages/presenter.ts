import type { Json, JsonObject } from '../../base/json.ts'
import type { Host, Route } from '../../domain/route.ts'
import type { Facts, FactsSource } from '../facts/facts.ts'
import { allHeaders, type Headers, type Reply } from '../http/reply.ts'
import type { HttpRequest } from '../http/request.ts'
import { wantsPage } from './accept-header.ts'
import { pageFor } from './chooser.ts'
import { pageHeaders, printPage, type Shown } from './page.ts'
import type { PageContent } from './page-content.ts'

/** Shows people what machines are told. */
type Presenter = {
  isWanted(request: HttpRequest): boolean
  /** `path` is the row's own, with its placeholders; null where there is no row. */
  show(
    request: HttpRequest,
    path: string | null,
    answer: (request: HttpRequest) => Reply | Promise<Reply>,
  ): Promise<Reply>
}

type PresenterOptions = {
  readonly routes: readonly Route[]
  readonly factsOf: FactsSource
  readonly hostOf: (request: HttpRequest) => Host
  /** Payments are machines' affair, whatever form they accept. */
  readonly isPaid: (request: HttpRequest) => boolean
}

export function createPresenter({ routes, factsOf, hostOf, isPaid }: PresenterOptions): Presenter {
  const byPath = Map.groupBy(routes, ({ path }) => path)

  async function factsFor(request: HttpRequest): Promise<Facts> {
    let host: Host = 'both'
    try {
      host = hostOf(request)
    } catch {
      // A name that is none of ours was answered as such; its page tells of all there is.
    }
    return factsOf(host)
  }

  return {
    isWanted(request) {
      if (!wantsPage(request)) return false
      try {
        return !isPaid(request)
      } catch {
        return false
      }
    },

    async show(request, path, answer) {
      const rows = path === null ? [] : (byPath.get(path) ?? [])
      const reply = await answer(rows.some(isTold) || rows.length === 0 ? askingForJson(request) : request)
      const list = allHeaders(reply)
      const header = (name: string) => headerIn(list, name)
      if (typeof reply.body !== 'string' || header('content-type') !== 'application/json') return reply
      if (reply.status < 400 && !rows.some(isTold)) return reply
      const body = JSON.parse(reply.body) as Json
      if (typeof body !== 'object' || body === null || Array.isArray(body)) return reply
      const told: PageContent = {
        facts: await factsFor(request),
        request,
        rows,
        status: reply.status,
        body: body as JsonObject,
        header,
      }
      const shown = pageFor(told)
      return { status: reply.status, headers: headersOf(list, shown), body: printPage(told.facts, shown) }
    },
  }
}

/** A row whose answer people may read in another form. Documents are files, and stay what they are. */
function isTold(route: Route): boolean {
  return route.kind === 'paid' || (route.contentType === 'application/json' && !route.isDocument)
}

function askingForJson(request: HttpRequest): HttpRequest {
  return {
    ...request,
    header: (name) => (name === 'accept' || name === 'if-none-match' ? undefined : request.header(name)),
  }
}

function headerIn(list: readonly string[], name: string): string | undefined {
  for (let i = 0; i < list.length; i += 2) if (list[i]!.toLowerCase() === name) return list[i + 1]
  return undefined
}

/** All that the answer says in its headers, but in another form. A page is never kept longer than a moment: it shows live prices. */
function headersOf(list: readonly string[], shown: Shown): Headers {
  const headers: Record<string, string> = {}
  for (let i = 0; i < list.length; i += 2) headers[list[i]!] = list[i + 1]!
  const { ETag: _tag, 'Content-Type': _type, ...rest } = headers
  return {
    ...rest,
    'Content-Type': 'text/html; charset=utf-8',
    Vary: rest['Vary'] ?? 'Accept',
    ...pageHeaders(shown),
  }
}
