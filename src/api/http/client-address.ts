import { isIP, isIPv4 } from 'node:net'
import type { HttpRequest } from './request.ts'

/**
 * Whom an allowance belongs to. Behind proxies of ours the one that stands furthest out names the caller; what stands further left in
 * X-Forwarded-For the caller wrote themselves.
 */
export function createClientFinder(proxyHops: number): (request: Pick<HttpRequest, 'peer' | 'header'>) => string {
  return ({ peer, header }) => {
    if (proxyHops === 0) return peer
    const forwarded = header('x-forwarded-for')?.split(',').at(-proxyHops)
    const address = forwarded === undefined ? '' : withoutPort(forwarded.trim())
    return isIP(address) ? clientKey(address) : peer
  }
}

/** IPv4 as it is. An IPv6 customer owns a /64 and may come from anywhere in it, so that is one caller. */
export function clientKey(address: string): string {
  const [bare = ''] = address.split('%')
  if (isIPv4(bare)) return bare
  if (!isIP(bare)) return 'unknown'
  const groups = groupsOf(bare)
  const [first, second, third] = groups
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff
  const isNat64 = first === 0x64 && second === 0xff9b && groups.slice(2, 6).every((group) => group === 0)
  if (isMapped || isNat64) return dotted(groups[6]!, groups[7]!)
  if (first === 0x2002) return dotted(second!, third!)
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

function groupsOf(address: string): readonly number[] {
  const [head = '', tail] = address.split('::')
  const left = parseGroups(head)
  const right = tail === undefined ? [] : parseGroups(tail)
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right]
}

function parseGroups(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
    return [(a << 8) | b, (c << 8) | d]
  })
}

function dotted(high: number, low: number): string {
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** Some proxies write `1.2.3.4:5678` or `[2001:db8::1]:5678`. */
function withoutPort(address: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(address)?.[1] ?? /^([\d.]+):\d+$/.exec(address)?.[1] ?? address
}
