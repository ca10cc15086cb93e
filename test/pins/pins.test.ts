import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createWallet } from '../../src/outbox/wallet.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// A golden copy of everything that others read of us. A change here is a change of the wire: look at the difference, then write the
// copies anew with `npm test -- --only=pins --repin`.

const ORIGIN = 'https://shop.example'

/** Which file holds which document. */
const documents = {
  'openapi.json': '/openapi.json',
  'openapi.full.json': '/openapi.full.json',
  'openapi.events.json': '/openapi.events.json',
  'catalog.json': '/catalog',
  'discovery-resources.json': '/discovery/resources',
  'x402.json': '/.well-known/x402',
  'mpp.json': '/.well-known/mpp',
  'agent-skills.json': '/.well-known/agent-skills/index.json',
  'skill.md': '/skill.md',
  'llms.txt': '/llms.txt',
  'llms-full.txt': '/llms-full.txt',
  'api-catalog.json': '/.well-known/api-catalog',
  'mcp-server-card.json': '/mcp/server-card',
  'ai-catalog.json': '/.well-known/ai-catalog.json',
  '402index-verify.txt': '/.well-known/402index-verify.txt',
  'robots.txt': '/robots.txt',
  'sitemap.xml': '/sitemap.xml',
  'sitemap-pages.xml': '/sitemap-pages.xml',
  'sitemap.md': '/sitemap.md',
  'errors.json': '/errors',
  'home.html': '/',
  'home.md': '/index.md',
  'mcp-registry.json': '/.well-known/mcp/server.json',
  'docs.html': '/docs',
  'errors.html': '/errors',
} as const

let shop: TestShop
before(async () => {
  // Under a name that does not change from run to run, and with the till's signature for it.
  shop = await startShop({
    env: { SUTLER_CONTACT_EMAIL: 'agents@shop.example', SUTLER_402INDEX_VERIFICATION: 'a-hash-that-402index-gave-us' },
    configure: (config) => ({
      ...config,
      http: { ...config.http, baseUrl: ORIGIN, x402BaseUrl: ORIGIN },
      service: { ...config.service, ownershipProofs: [createWallet(sandboxKey('till')).signText(ORIGIN)] },
    }),
  })
})
after(() => shop.stop())

for (const [file, path] of Object.entries(documents)) {
  test(`${path} is what test/pins/${file} says`, async () => {
    const accept = file.endsWith('.html') ? 'text/html' : '*/*'
    const response = await fetch(`http://127.0.0.1:${shop.config.http.port}${path}`, { headers: { accept } })
    assert.equal(response.status, 200)
    const text = printed(file, await response.text())
    const golden = join(import.meta.dirname, file)
    if (process.env['TEST_REPIN']) writeFileSync(golden, text)
    assert.ok(existsSync(golden), 'there is no golden copy yet; write it with: npm test -- --only=pins --repin')
    assert.equal(text, readFileSync(golden, 'utf8'))
  })
}

/** Moments differ between runs. JSON is laid out for people to compare. */
function printed(file: string, text: string): string {
  const timeless = text.replaceAll(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z/g, '2026-01-01T00:00:00.000Z')
  return file.endsWith('.json') ? `${JSON.stringify(JSON.parse(timeless), null, 2)}\n` : timeless
}
