import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { root } from '../cli/sutler.ts'
import { freePort } from '../support/free-port.ts'

/** Whether this machine has the proxy. TEST_PROXY=required makes it a failure when it has not. */
export function hasCaddy(): boolean {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const isThere = folders.some((folder) => existsSync(join(folder, 'caddy')))
  if (!isThere && process.env['TEST_PROXY'] === 'required')
    throw new Error('TEST_PROXY=required, and there is no Caddy; install it (Debian: apt-get install caddy)')
  return isThere
}

/**
 * The shipped Caddyfile where npm puts it. Before it stand three lines for a machine that is not a server: nobody there owns port 80, and
 * the authority that Caddy makes for a host without a public name is trusted by our own processes only.
 */
export async function installCaddyfile(folder: string): Promise<void> {
  const place = join(folder, 'node_modules/sutler')
  mkdirSync(place, { recursive: true })
  const shipped = readFileSync(join(root, 'Caddyfile'), 'utf8')
  const options = `{\n\tadmin off\n\thttp_port ${await freePort()}\n\tskip_install_trust\n}\n`
  writeFileSync(join(place, 'Caddyfile'), options + shipped)
}

/** Where Caddy keeps the certificate of that authority. */
export function authorityIn(folder: string): string {
  return join(folder, 'caddy/pki/authorities/local/root.crt')
}
