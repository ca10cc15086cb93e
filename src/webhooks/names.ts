import { lookup, Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { networkInterfaces } from 'node:os'
import type { Resolve } from './target.ts'

// How the name of a receiver becomes addresses. `dns.lookup` occupies a thread of the process until the name's server has answered, and
// cannot be called off; of four threads two may look names up. One receiver with a silent name server kept every look-up of the process
// waiting, `localhost` for 40 seconds, and with them new connections to nodes, game and store. Fewer of those at a time would free the
// process, but then silent names keep the other receivers waiting. So name servers are asked over sockets, which take no thread and can
// be closed, and the system only for what nobody else knows, by one thread at most.

type Sources = {
  /** Name servers as `address:port`; those of the machine unless told otherwise. */
  readonly servers?: readonly string[]
  readonly hostsFile?: string
  /** Whatever this machine knows: its hosts file, mDNS, search domains. */
  readonly askSystem?: (name: string) => Promise<readonly string[]>
}

export function createResolve(sources: Sources = {}): Resolve {
  const { servers, hostsFile = '/etc/hosts', askSystem = lookUp } = sources
  const askInTurn = oneAtATime(askSystem)
  return async (name, stop) => {
    // The system finds it in the file, and asks nobody.
    if (await isInHosts(hostsFile, name)) return askSystem(name)
    if (NAME_OF_THIS_NETWORK.test(name)) return askInTurn(name)
    return (await askServers({ name, servers, stop })) ?? askInTurn(name)
  }
}

/** One for the process, because its threads are. */
export const systemResolve: Resolve = createResolve()

/** A single word, mDNS (RFC 6762), or this machine (RFC 6761): no name server of the world is asked for these. */
const NAME_OF_THIS_NETWORK = /^[^.]+$|\.local(?:host)?\.?$/
/** The second try waits twice as long: with one name server 6 of the 10 seconds that a message has. */
const SERVERS = { timeout: 2_000, tries: 2 }
const NAMES_WAITING_MAX = 8

async function lookUp(name: string): Promise<readonly string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

async function isInHosts(file: string, name: string): Promise<boolean> {
  // Not every system has one there.
  const text = await readFile(file, 'utf8').catch(() => '')
  return text.split('\n').some((line) => {
    const [, ...names] = line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
    return names.includes(name)
  })
}

type Question = {
  readonly name: string
  readonly servers: readonly string[] | undefined
  readonly stop: AbortSignal | undefined
}

/** Null when they answered that there is no such name. Silence is no answer, and neither is "I cannot tell". */
async function askServers({ name, servers, stop }: Question): Promise<readonly string[] | null> {
  stop?.throwIfAborted()
  // Each question has its own: it keeps no answers, knows the name servers of today, and is called off alone.
  const resolver = new Resolver(SERVERS)
  if (servers) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  stop?.addEventListener('abort', cancel, { once: true })
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  stop?.removeEventListener('abort', cancel)
  const [ipv4, ipv6] = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  const addresses = hasPublicIpv6() ? [...ipv6!, ...ipv4!] : [...ipv4!, ...ipv6!]
  if (addresses.length > 0) return addresses
  const unanswered = answers.find((answer) => answer.status === 'rejected' && !isDenial(answer.reason))
  if (!unanswered) return null
  const { reason } = unanswered as PromiseRejectedResult
  throw new Error(`the name servers do not tell the address of ${name} (${reason.code})`, { cause: reason })
}

function isDenial({ code }: NodeJS.ErrnoException): boolean {
  return code === 'ENOTFOUND' || code === 'ENODATA'
}

/** The first address is the one that is called. The system would decide by the same (RFC 6724). */
function hasPublicIpv6(): boolean {
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ family, address }) => family === 'IPv6' && /^[23]/.test(address)),
  )
}

/** A name server can deny a name and be silent when the system asks again: that keeps one thread, and nobody whose name is known. */
function oneAtATime(ask: (name: string) => Promise<readonly string[]>): (name: string) => Promise<readonly string[]> {
  const waiting = new Map<string, Promise<readonly string[]>>()
  let last: Promise<unknown> = Promise.resolve()
  return (name) => {
    const sameName = waiting.get(name)
    if (sameName !== undefined) return sameName
    if (waiting.size >= NAMES_WAITING_MAX)
      throw new Error(`too many names wait to be looked up; ${name} has to come later`)
    const asked = last.then(() => ask(name)).finally(() => waiting.delete(name))
    last = asked.catch(() => {})
    waiting.set(name, asked)
    return asked
  }
}
