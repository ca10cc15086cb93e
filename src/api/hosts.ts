import { Problem } from '../base/problem.ts'
import type { HttpConfig } from '../config/config.ts'
import type { Host, Route } from './route.ts'

/** Which of our public hosts was asked. One origin for both protocols is `both`. */
export function hostOf(http: HttpConfig, header: string | undefined): Host {
  const mpp = new URL(http.baseUrl).host
  const x402 = new URL(http.x402BaseUrl).host
  if (mpp === x402) return 'both'
  if (header === mpp) return 'mpp'
  if (header === x402) return 'x402'
  throw new Problem('wrong_host', `This shop is reached at ${http.baseUrl} and ${http.x402BaseUrl}.`)
}

export function servesHere(host: Host, route: Route): boolean {
  return host === 'both' || route.host === 'both' || route.host === host
}

export function otherHostOf(http: HttpConfig, route: Route): string {
  return route.host === 'mpp' ? http.baseUrl : http.x402BaseUrl
}
