import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import tls from 'node:tls'
import { openWebSocket } from '../../src/base/web-socket.ts'
import { authorityIn, hasCaddy } from '../rehearsal/caddy.ts'
import { freePort } from '../support/free-port.ts'
import { startHeadServer } from '../support/head-server.ts'
import { until } from '../support/until.ts'

/** A real proxy with a certificate for `localhost`, signed by an authority of its own, before a node that tells of blocks. */
async function startSecure(t: TestContext): Promise<{ port: number; authority: string }> {
  const node = await startHeadServer(84532)
  t.after(() => node.close())
  const folder = mkdtempSync(join(tmpdir(), 'sutler-secure-'))
  const port = await freePort()
  const options = `{\n\tadmin off\n\thttp_port ${await freePort()}\n\tskip_install_trust\n}\n`
  const site = `https://localhost:${port} {\n\ttls internal\n\treverse_proxy ${new URL(node.url).host}\n}\n`
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, options + site)
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder }
  const caddy = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', file], { env, stdio: 'ignore' })
  const exit = once(caddy, 'exit')
  t.after(async () => {
    caddy.kill('SIGKILL')
    await exit
    rmSync(folder, { recursive: true })
  })
  const authority = authorityIn(folder)
  await until(() => existsSync(authority) && readFileSync(authority, 'utf8').includes('END CERTIFICATE'))
  return { port, authority: readFileSync(authority, 'utf8') }
}

/** `open`, or why not. */
function outcomeOf(url: string): Promise<string> {
  return new Promise((resolve) => {
    const line = openWebSocket(url, 1_000, {
      onOpen() {
        resolve('open')
        line.cut()
      },
      onFrame() {},
      onEnd: resolve,
    })
  })
}

test('M-18: over wss a node is listened to only if somebody who is trusted vouches for its name', {
  skip: hasCaddy() ? false : 'Caddy is not installed',
}, async (t) => {
  const { port, authority } = await startSecure(t)
  const url = `wss://localhost:${port}`
  const usual = tls.getCACertificates('default')
  t.after(() => tls.setDefaultCACertificates(usual))
  tls.setDefaultCACertificates([...usual, authority])
  await until(async () => (await outcomeOf(url)) === 'open')
  assert.notEqual(await outcomeOf(`wss://127.0.0.1:${port}`), 'open', 'another name')
  tls.setDefaultCACertificates(usual)
  assert.match(await outcomeOf(url), /certificate/, 'another authority')
})
