import { StoreFault } from './fault.ts'

/** Where the primary may be: one address, or several of which one takes writes. */
export type Hosts = {
  /** The address to try now. */
  current(): string
  /** There is no primary: whoever comes next tries the next one. Does nothing when somebody else has moved on already. */
  passOver(url: string): void
  readonly count: number
}

const PARTS = /^(\w+:\/\/(?:[^@/]*@)?)([^/?]*)(.*)$/
/** Standbys are of no use to a shop, so these two mean the same, and nothing else has a meaning. */
const WANTED = /[?&]target_session_attrs=([^&]*)/

/**
 * `postgres://shop@db1:5432,db2:5432/shop`, as libpq writes it. The driver knows one host only, so each becomes an address of its own; they
 * are tried in turn, and the one that worked last comes first.
 */
export function hostsOf(url: string): Hosts {
  const [, before = '', list = '', after = ''] = PARTS.exec(url) ?? []
  const wanted = WANTED.exec(url)?.[1] ?? 'read-write'
  if (wanted !== 'read-write' && wanted !== 'primary')
    throw new StoreFault(
      'database_url_invalid',
      `the database URL asks for target_session_attrs=${wanted}, and a shop writes; use read-write, or leave it out`,
    )
  const urls = list.split(',').map((host) => `${before}${host}${after}`)
  let at = 0
  return {
    current: () => urls[at]!,
    passOver(tried) {
      if (urls[at] === tried) at = (at + 1) % urls.length
    },
    count: urls.length,
  }
}
