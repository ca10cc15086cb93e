import { BlockList, isIP } from 'node:net'
import { Problem } from '../base/problem.ts'

// Where a webhook may go. An operator's mistake or a stolen operator token must not turn the shop into a door to its own network: only
// public addresses are called, and what is called is the address that was checked, not a name that may answer differently a moment later.

export type TargetPolicy = {
  /** For development: receivers on this very machine, also without TLS. */
  readonly allowLoopback: boolean
}

/** All addresses of a name. Whoever cannot wait any longer says stop. */
export type Resolve = (hostname: string, stop?: AbortSignal) => Promise<readonly string[]>

const RESERVED_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Where the services of this machine's cloud are: metadata, and with it credentials.
  '169.254.0.0/16',
  '168.63.129.16/32',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]

/** Within the public part of IPv6: protocol assignments with Teredo, documentation, and 6to4, which carries an IPv4 address inside. */
const RESERVED_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']
const PUBLIC_IPV6 = ['2000::/3']
const LOOPBACK = { ipv4: ['127.0.0.0/8'], ipv6: ['::1/128'] } as const

const reservedIpv4 = blockList('ipv4', RESERVED_IPV4)
const reservedIpv6 = blockList('ipv6', RESERVED_IPV6)
const publicIpv6 = blockList('ipv6', PUBLIC_IPV6)
const loopbackIpv4 = blockList('ipv4', LOOPBACK.ipv4)
const loopbackIpv6 = blockList('ipv6', LOOPBACK.ipv6)

function blockList(family: 'ipv4' | 'ipv6', subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [network = '', prefix = ''] = subnet.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}

function isPublic(address: string): boolean {
  return isIP(address) === 4
    ? !reservedIpv4.check(address, 'ipv4')
    : publicIpv6.check(address, 'ipv6') && !reservedIpv6.check(address, 'ipv6')
}

function isLoopback(address: string): boolean {
  return isIP(address) === 4 ? loopbackIpv4.check(address, 'ipv4') : loopbackIpv6.check(address, 'ipv6')
}

const HTTPS_PORT = 443
/** Below are the ports of mail, shells and databases of strangers. */
const PORT_MIN = 1024
const URL_LENGTH_MAX = 2_000

/** A URL that may be registered, as far as it can be judged without asking for its addresses. */
export function readTarget(url: string, { allowLoopback }: TargetPolicy): URL {
  if (url.length > URL_LENGTH_MAX || !URL.canParse(url)) throw refusal('it is not a URL')
  const target = new URL(url)
  if (target.protocol !== 'https:' && !(allowLoopback && target.protocol === 'http:'))
    throw refusal(`it must start with https://${isLocalHost(target) ? LOOPBACK_OPTION : ''}`)
  if (target.username !== '' || target.password !== '') throw refusal('it must not hold a user name or a password')
  const port = portOf(target)
  if (port !== HTTPS_PORT && port < PORT_MIN && !(allowLoopback && target.protocol === 'http:'))
    throw refusal(`port ${port} is not used for webhooks; use 443, or one from ${PORT_MIN} on`)
  return target
}

export function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'https:' ? HTTPS_PORT : 80) : Number(port)
}

/** The address to connect to. Every address of the name must be allowed: one bad among good ones is an attack, or soon will be. */
export async function reachableAddress(
  target: URL,
  resolve: Resolve,
  { allowLoopback }: TargetPolicy,
): Promise<string> {
  // The URL parser has turned decimal, octal and hexadecimal spellings of IPv4 into the usual one.
  const host = hostOf(target)
  const addresses = isIP(host) ? [host] : await resolve(host)
  const isLocal = allowLoopback && addresses.every(isLoopback)
  const [first] = addresses
  if (first === undefined) throw refusal('its name has no address')
  if (!allowLoopback && addresses.every(isLoopback)) throw refusal(`it leads to this very machine${LOOPBACK_OPTION}`)
  if (!isLocal && !addresses.every(isPublic)) throw refusal('it leads to an address that is not public')
  if (!isLocal && target.protocol !== 'https:') throw refusal('it must start with https://')
  return first
}

const LOOPBACK_OPTION = '; for a receiver on this machine, start the shop with SUTLER_WEBHOOK_LOOPBACK=true'

function isLocalHost(target: URL): boolean {
  const host = hostOf(target)
  return host === 'localhost' || (isIP(host) !== 0 && isLoopback(host))
}

function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1')
}

function refusal(why: string): Problem {
  return new Problem('invalid_request', `The webhook URL cannot be used: ${why}.`)
}
