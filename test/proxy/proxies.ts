import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../cli/sutler.ts'
import { until } from '../support/until.ts'

/** A proxy of the system with the configuration that we ship. */
export type Frontend = {
  readonly name: string
  readonly isInstalled: boolean
  start(port: number, replicas: readonly [string, string]): Promise<{ readonly url: string; stop(): Promise<void> }>
}

const installed = (command: string, ...args: string[]) => spawnSync(command, args).status === 0

/** Nothing in these tests takes long to answer: a replica that is silent for so long hangs. */
const ANSWER_WITHIN = '3s'

export const proxies: readonly Frontend[] = [
  {
    name: 'Caddy',
    isInstalled: installed('caddy', 'version'),
    start: (port, replicas) =>
      run(port, 'caddy', ['run', '--adapter', 'caddyfile', '--config', join(root, 'Caddyfile')], {
        SHOP_HOST: `http://127.0.0.1:${port}`,
        SHOP_REPLICAS: replicas.join(' '),
        SHOP_ANSWER_WITHIN: ANSWER_WITHIN,
        ...(isOld() ? { SHOP_KEEPING: 'buffer_requests' } : {}),
      }),
  },
  {
    name: 'HAProxy',
    isInstalled: installed('haproxy', '-v'),
    start: (port, [first, second]) =>
      run(port, 'haproxy', ['-db', '-f', join(root, 'deploy/haproxy.cfg')], {
        SHOP_BIND: `127.0.0.1:${port}`,
        SHOP_1: first,
        SHOP_2: second,
        SHOP_ANSWER_WITHIN: ANSWER_WITHIN,
      }),
  },
]

/** Before 2.6.4 requests were kept by another word. */
function isOld(): boolean {
  const { stdout } = spawnSync('caddy', ['version'], { encoding: 'utf8' })
  const [major = 0, minor = 0, patch = 0] = (/(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number)
  return major * 10_000 + minor * 100 + patch < 20_604
}

async function run(port: number, command: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const home = mkdtempSync(join(tmpdir(), 'sutler-proxy-'))
  const { PATH = '' } = process.env
  const child: ChildProcess = spawn(command, args, { env: { PATH, HOME: home, ...env }, stdio: 'ignore' })
  const exit = once(child, 'exit')
  const url = `http://127.0.0.1:${port}`
  await until(async () => (await fetch(`${url}/health/ready`).catch(() => null))?.status === 200)
  return {
    url,
    async stop() {
      child.kill('SIGKILL')
      await exit
      rmSync(home, { recursive: true, force: true })
    },
  }
}
