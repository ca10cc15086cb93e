/** A place of the console: what it is called, how to get there by keys, and which picture stands beside it. */
export type ConsolePlace = {
  readonly path: string
  readonly name: string
  /** After `g`. */
  readonly key: string
  readonly icon: string
  /** Also among the few that a phone has room for. */
  readonly isTab?: true
  /** Below this heading in the side bar. */
  readonly group: 'Every day' | 'Money' | 'Integration' | 'House'
}

/** In the order of the side bar. */
export const places: readonly ConsolePlace[] = [
  { path: '/operator', name: 'Needs you', key: 'h', icon: 'inbox', isTab: true, group: 'Every day' },
  { path: '/operator/orders', name: 'Orders', key: 'o', icon: 'orders', isTab: true, group: 'Every day' },
  { path: '/operator/catalog', name: 'Catalog', key: 'c', icon: 'tag', group: 'Every day' },
  { path: '/operator/players', name: 'Players', key: 'p', icon: 'person', group: 'Every day' },
  { path: '/operator/money', name: 'Money', key: 'm', icon: 'money', isTab: true, group: 'Money' },
  { path: '/operator/funnel', name: 'Funnel', key: 'f', icon: 'funnel', group: 'Money' },
  { path: '/operator/wallets', name: 'Wallets', key: 'w', icon: 'wallet', group: 'Money' },
  { path: '/operator/transfers', name: 'Transfers', key: 'i', icon: 'transfer', group: 'Money' },
  { path: '/operator/live', name: 'Live', key: 'l', icon: 'pulse', isTab: true, group: 'Integration' },
  { path: '/operator/webhooks', name: 'Webhooks', key: 'k', icon: 'hook', group: 'Integration' },
  { path: '/operator/system', name: 'System', key: 's', icon: 'system', group: 'House' },
  { path: '/operator/audit', name: 'Audit', key: 'a', icon: 'audit', group: 'House' },
  { path: '/operator/people', name: 'People', key: 'u', icon: 'people', group: 'House' },
]

/** Only where money is play money. */
export const PRACTICE: ConsolePlace = {
  path: '/operator/practice',
  name: 'Practice',
  key: 'b',
  icon: 'flask',
  group: 'House',
}

/** Below these, each thing has its own page. */
const DETAILS = ['/operator/orders', '/operator/transfers', '/operator/players', '/operator/webhooks']
const ENTER = '/operator/enter'

/** Every address of the console that is a page, as the router writes it. */
export const consolePaths: readonly string[] = [
  ...places.map(({ path }) => path),
  PRACTICE.path,
  ENTER,
  ...DETAILS.map((path) => `${path}/{id}`),
]

/** What the page at an address is called before its data are there. */
export function headingOf(path: string): string {
  if (path === ENTER) return 'Sign in'
  const found = [...places, PRACTICE].findLast((place) => path === place.path || path.startsWith(`${place.path}/`))
  return found?.name ?? 'Console'
}
