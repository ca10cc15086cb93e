import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { proxies, startProxy } from './proxies.ts'

const caddy = proxies.find(({ name }) => name === 'Caddy')!
const isRequired = process.env['TEST_PROXY'] === 'required'

test('H-06: whoever is told to ask again stays at this shop, however the path begins', {
  skip: !caddy.isInstalled && !isRequired && 'Caddy is not installed',
}, async (t) => {
  // It dies with every request in its hands, but for those after its health.
  const replica = createServer(({ url, socket }, response) => {
    if (url === '/health/ready') response.end()
    else socket.destroy()
  }).listen(0, '127.0.0.1')
  await once(replica, 'listening')
  t.after(() => replica.close())
  const address = `127.0.0.1:${(replica.address() as AddressInfo).port}`
  const front = await startProxy(caddy, [address, address])
  t.after(() => front.stop())
  const { host, port } = new URL(front.url)

  for (const path of ['//evil.example/x', '/\\evil.example', '/catalog?q=1']) {
    const asked = request({ host: '127.0.0.1', port, path, method: 'POST' }).end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    const { location = '', 'strict-transport-security': https } = answer.headers
    assert.equal(answer.statusCode, 307, path)
    assert.equal(new URL(location, front.url).host, host, location)
    assert.equal(new URL(location, front.url).href.slice(front.url.length), path.replace('\\', '%5C'), location)
    assert.match(https ?? '', /^max-age=\d{8}$/)
  }
})
