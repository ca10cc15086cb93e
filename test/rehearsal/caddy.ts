import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { root } from '../cli/sutler.ts'
import { freePort } from '../support/shop.ts'
import { until } from '../support/until.ts'

/** The proxy of this machine; null when it has none. TEST_PROXY=required makes that a failure. */
export function findCaddy(): string | null {
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  const found = folders.map((folder) => join(folder, 'caddy')).find(existsSync)
  if (found === undefined && process.env['TEST_PROXY'] === 'required')
    throw new Error('TEST_PROXY=required, and there is no Caddy; install it (Debian: apt-get install caddy)')
  return found ?? null
}

export type Caddy = {
  /** Of the authority that signed its certificate, which nobody trusts by itself. */
  readonly certificate: string
  stop(): Promise<void>
}

type Handler = { [member: string]: unknown; handler: string; routes?: Route[]; upstreams?: unknown }
type Route = { handle: Handler[] }
type Adapted = { apps: { http: { servers: Record<string, { routes: Route[] }> } } & Record<string, unknown> } & Record<
  string,
  unknown
>

/** The shipped Caddyfile as it is, but for what a machine without a public name, without port 80 and without containers lacks. */
export async function startCaddy(
  program: string,
  { host, ports, folder }: { readonly host: string; readonly ports: readonly number[]; readonly folder: string },
): Promise<Caddy> {
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
    SHOP_HOST: host,
  }
  const adapted = spawnSync(program, ['adapt', '--config', join(root, 'Caddyfile'), '--adapter', 'caddyfile'], {
    env,
    encoding: 'utf8',
  })
  if (adapted.status !== 0) throw new Error(`Caddy does not take the Caddyfile: ${adapted.stderr}`)
  const config = JSON.parse(adapted.stdout) as Adapted
  const { http } = config.apps
  for (const { routes } of Object.values(http.servers))
    for (const handler of handlersIn(routes).filter((one) => one.handler === 'reverse_proxy')) {
      delete handler['dynamic_upstreams']
      handler.upstreams = ports.map((port) => ({ dial: `127.0.0.1:${port}` }))
    }
  const own = {
    ...config,
    admin: { disabled: true },
    apps: {
      ...config.apps,
      http: { ...http, http_port: await freePort() },
      pki: { certificate_authorities: { local: { install_trust: false } } },
    },
  }
  const path = join(folder, 'caddy.json')
  writeFileSync(path, JSON.stringify(own))
  const child = spawn(program, ['run', '--config', path], { env, stdio: ['ignore', 'ignore', 'ignore'] })
  const exit = once(child, 'exit')
  const kill = () => void child.kill('SIGKILL')
  process.once('exit', kill)
  const certificate = join(folder, 'caddy/pki/authorities/local/root.crt')
  await Promise.race([
    until(() => existsSync(certificate) && readFileSync(certificate, 'utf8').includes('END CERTIFICATE')),
    exit.then(() => {
      throw new Error('Caddy ended')
    }),
  ])
  return {
    certificate,
    async stop() {
      child.kill('SIGTERM')
      await exit
      process.off('exit', kill)
    },
  }
}

function handlersIn(routes: readonly Route[]): readonly Handler[] {
  return routes.flatMap(({ handle }) => handle.flatMap((one) => [one, ...handlersIn(one.routes ?? [])]))
}
