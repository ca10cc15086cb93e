import { Problem } from '../../base/problem.ts'
import type { Host } from '../../domain/route.ts'
import { type HttpRequest, linesOf } from '../http/request.ts'

/** Which of our public addresses was asked. A single origin is `both`, and answers to any name that leads to it. */
export function createHostFinder(urls: readonly string[]): (request: HttpRequest) => Host {
  const hosts = new Map(urls.map((url) => [new URL(url).host, url]))
  return (request) => {
    const lines = linesOf(request, 'host')
    if (lines > 1 || (lines === 0 && request.incoming.httpVersion === '1.1'))
      throw new Problem('invalid_request', 'Send exactly one Host header.')
    if (hosts.size === 1) return 'both'
    const asked = hosts.get(request.host()?.toLowerCase() ?? '')
    if (asked === undefined) throw new Problem('wrong_host', `This shop is reached at ${urls.join(' and ')}.`)
    return asked
  }
}

export function servesHere(host: Host, route: { readonly host: Host }): boolean {
  return host === 'both' || route.host === 'both' || route.host === host
}
