import { isFixedName } from '../../base/own-names.ts'
import { Problem } from '../../base/problem.ts'
import { type HttpConfig, publicUrls } from '../../config/config.ts'
import type { Host } from '../../domain/route.ts'
import { type HttpRequest, linesOf } from '../http/request.ts'

/**
 * Which of our public addresses was asked. A single origin is `both`. In public it answers to any name that leads to it, because a proxy
 * decides which do. Where none need stand in front, a name that is not ours is a stranger's that was led to this machine.
 */
export function createHostFinder(http: HttpConfig): (request: HttpRequest) => Host {
  const urls = publicUrls(http)
  const hosts = new Map(urls.map((url) => [new URL(url).host, url]))
  return (request) => {
    const lines = linesOf(request, 'host')
    if (lines > 1 || (lines === 0 && request.incoming.httpVersion === '1.1'))
      throw new Problem('invalid_request', 'Send exactly one Host header.')
    const name = request.host()?.toLowerCase() ?? ''
    const asked = hosts.get(name)
    if (hosts.size === 1 && (asked || lines === 0 || !http.isForThisMachine || isFixedName(name))) return 'both'
    if (asked === undefined) throw new Problem('wrong_host', `This shop is reached at ${urls.join(' and ')}.`)
    return asked
  }
}

export function servesHere(host: Host, route: { readonly host: Host }): boolean {
  return host === 'both' || route.host === 'both' || route.host === host
}
