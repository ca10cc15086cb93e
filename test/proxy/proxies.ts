import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../cli/sutler.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** A proxy of this machine with the configuration that we ship. */
export type Proxy = {
  readonly name: string
  readonly isInstalled: boolean
  /** Its command line, for a port of ours and two replicas. */
  command(place: Place): readonly string[]
  env(place: Place): Readonly<Record<string, string>>
}

type Place = {
  readonly port: number
  readonly folder: string
  readonly replicas: readonly [string, string]
  readonly answerWithin: string
}

export type Front = { readonly name: string; readonly url: string; stop(): Promise<void> }

/** As shipped. On a busy machine a replica that is silent for less may only be slow. */
const ANSWER_WITHIN = '20s'

export const proxies: readonly Proxy[] = [
  {
    name: 'Caddy',
    isInstalled: isInstalled('caddy', 'version'),
    command: () => ['caddy', 'run', '--adapter', 'caddyfile', '--config', join(root, 'Caddyfile')],
    env: ({ port, folder, replicas, answerWithin }) => ({
      HOME: folder,
      SHOP_HOST: `http://127.0.0.1:${port}`,
      SHOP_REPLICAS: replicas.join(' '),
      SHOP_ANSWER_WITHIN: answerWithin,
    }),
  },
  {
    name: 'HAProxy',
    isInstalled: isInstalled('haproxy', '-v'),
    command(place) {
      const file = join(place.folder, 'haproxy.cfg')
      writeFileSync(file, haproxyConfig(place))
      return ['haproxy', '-db', '-f', file]
    },
    env: () => ({}),
  },
]

function isInstalled(command: string, ...args: string[]): boolean {
  return spawnSync(command, args).status === 0
}

/** As the page has it, but for where everything is. */
function haproxyConfig({ port, replicas: [first, second], answerWithin }: Place): string {
  const page = readFileSync(join(root, 'docs/haproxy.md'), 'utf8')
  const [, config = ''] = /^```haproxy\n(.*?)^```/ms.exec(page) ?? []
  const swap = (text: string, from: string, to: string) => {
    assert.ok(text.includes(from), `docs/haproxy.md has no "${from}"`)
    return text.replaceAll(from, to)
  }
  const changes = [
    ['bind :443 ssl crt /etc/haproxy/shop.pem alpn h2,http/1.1', `bind 127.0.0.1:${port}`],
    ['shop-1:4020', first],
    ['shop-2:4020', second],
    ['timeout server 20s', `timeout server ${answerWithin}`],
  ] as const
  return changes.reduce((text, [from, to]) => swap(text, from, to), config)
}

export async function startProxy(
  proxy: Proxy,
  replicas: Place['replicas'],
  { port, answerWithin = ANSWER_WITHIN }: { readonly port?: number; readonly answerWithin?: string } = {},
): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), 'sutler-proxy-'))
  const place = { port: port ?? (await freePort()), folder, replicas, answerWithin }
  const [command = '', ...args] = proxy.command(place)
  const { PATH = '', TEST_VERBOSE } = process.env
  const stdio = TEST_VERBOSE === '1' ? 'inherit' : 'ignore'
  const child = spawn(command, args, { env: { PATH, ...proxy.env(place) }, stdio })
  const exit = once(child, 'exit')
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const url = `http://127.0.0.1:${place.port}`
  await until(async () => {
    assert.equal(child.exitCode, null, `${proxy.name} does not start; TEST_VERBOSE=1 shows why`)
    return (await fetch(`${url}/health/ready`).catch(() => null))?.status === 200
  })
  return {
    name: proxy.name,
    url,
    async stop() {
      process.off('exit', end)
      end()
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
