import { isIP } from 'node:net'

// A web page elsewhere reaches what listens on its visitor's machine in two ways: by its own name, which it has lead to that machine (DNS
// rebinding), and by asking across origins.

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Whether no stranger can have chosen what this `Host` leads to: a number leads where it says. */
export function isFixedName(host: string): boolean {
  const name = host.toLowerCase().replace(/:\d+$/, '')
  return name === 'localhost' || isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0
}

/** Whether a page that sends this `Origin` was itself served by this machine. */
export function isLocalOrigin(origin: string): boolean {
  return URL.canParse(origin) && LOOPBACK.test(new URL(origin).hostname)
}
