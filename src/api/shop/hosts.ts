import { Problem } from '../../base/problem.ts'
import type { HttpConfig } from '../../config/config.ts'
import type { Host, Route } from '../../domain/route.ts'
import { type HttpRequest, linesOf } from '../http/request.ts'

/** Which of our public hosts was asked. One origin for both protocols is `both`, and answers to any name that leads to it. */
export function createHostFinder({ baseUrl, x402BaseUrl }: HttpConfig): (request: HttpRequest) => Host {
  const mpp = new URL(baseUrl).host
  const x402 = new URL(x402BaseUrl).host
  return (request) => {
    const lines = linesOf(request, 'host')
    if (lines > 1 || (lines === 0 && request.incoming.httpVersion === '1.1'))
      throw new Problem('invalid_request', 'Send exactly one Host header.')
    if (mpp === x402) return 'both'
    const host = request.host()?.toLowerCase()
    if (host === mpp) return 'mpp'
    if (host === x402) return 'x402'
    throw new Problem('wrong_host', `This shop is reached at ${baseUrl} and ${x402BaseUrl}.`)
  }
}

export function servesHere(host: Host, route: { readonly host: Host }): boolean {
  return host === 'both' || route.host === 'both' || route.host === host
}

export function otherHostOf(http: HttpConfig, route: Pick<Route, 'host'>): string {
  return route.host === 'mpp' ? http.baseUrl : http.x402BaseUrl
}
