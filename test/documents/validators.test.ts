import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import * as agentcash from '@agentcash/discovery'
import { HTTPFacilitatorClient } from '@x402/core/server'
import {
  type DiscoveryExtension,
  extractDiscoveryInfoFromExtension,
  validateDiscoveryExtension,
  validateDiscoveryExtensionSpec,
  withBazaar,
} from '@x402/extensions/bazaar'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { systemRandom } from '../../src/base/id.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { createSandboxPlayers } from '../../src/sandbox/players.ts'
import { crafterAtWork } from '../craft/workshop.ts'
import { startShop, type TestShop } from '../support/shop.ts'
import { type Listed, operationsOf, readJson } from './documents.ts'
import { lint, run } from './program.ts'

// What others will say of the documents, said here first, without leaving the machine: the very programs that scanners run.

let shop: TestShop
let rpc: RpcServer
let paid: readonly Listed[]
before(async () => {
  shop = await startShop()
  rpc = await serveRpc(shop.chains.tempo)
  paid = operationsOf(await readJson(`${shop.url}/openapi.json`))
})
after(async () => {
  await rpc.close()
  await shop.stop()
})

describe('mppx', () => {
  type Check = { readonly label: string; readonly severity: string; readonly detail?: string }
  type Validation = {
    readonly discovery: { readonly checks: readonly Check[] }
    readonly endpoints: readonly ({ readonly method: string; readonly path: string } & Record<
      'challenge' | 'errorHandling' | 'payment',
      readonly Check[]
    >)[]
    readonly summary: Readonly<Record<'failed' | 'warnings' | 'suggested', number>>
  }

  test('validate: every MPP route is found, challenges, takes a payment on the dev chain and gives a receipt', async () => {
    const key = generatePrivateKey()
    const crafter = await crafterAtWork(shop, undefined, privateKeyToAccount(key))
    await createSandboxPlayers(shop.store.db, systemRandom).create({ nickname: 'validator', address: crafter.address })
    // Whoever crafts must be the payer, and whoever buys names a wallet of theirs; all others are the examples of the document.
    const bodies = {
      '/agentic/mpp/buy': { saleId: 392, beneficiary: crafter.address },
      '/craft/mpp/burn': { user: crafter.address, nfts: crafter.nfts.slice(1, 2) },
      '/craft/mpp/accelerate': { user: crafter.address },
    }
    const { stdout, stderr } = await run(
      '.bin/mppx',
      ['validate', shop.url, '--yes', '--outputJson', '--body', JSON.stringify(bodies)],
      {
        MPPX_CONFIG: join(import.meta.dirname, 'mppx-config.ts'),
        MPPX_PRIVATE_KEY: key,
        MPPX_RPC_URL: rpc.url,
      },
    )
    const { discovery, endpoints, summary } = JSON.parse(stdout) as Validation
    const { failed, warnings, suggested } = summary
    assert.deepEqual({ failed, warnings, suggested }, { failed: 0, warnings: 0, suggested: 0 }, stdout + stderr)
    assert.ok(discovery.checks.every(({ severity }) => severity === 'pass'))
    assert.deepEqual(
      // It tries those first whose price it reads from the document.
      endpoints.map(({ method, path }) => `${method} ${path}`).toSorted(),
      paid.map(({ method, path }) => `${method} ${path}`).toSorted(),
    )
    for (const { path, challenge, errorHandling, payment } of endpoints) {
      const checks = [...challenge, ...errorHandling, ...payment]
      if (path.includes('/x402/')) {
        // Not its protocol: it says so, and checks the challenge of the other one no further than its header.
        assert.ok(
          checks.some(({ label, severity }) => label === 'x402 payment challenge' && severity === 'pass'),
          path,
        )
        continue
      }
      assert.deepEqual(
        checks.filter(({ severity }) => severity !== 'pass'),
        [],
        path,
      )
      assert.ok(
        payment.some(({ label }) => label === 'Payment: successful'),
        path,
      )
      assert.ok(
        payment.some(({ label }) => label === 'Receipt reference valid'),
        path,
      )
    }
  })
})

describe('@agentcash/discovery, which x402scan and mppscan run', () => {
  test('discover: no warning about the document, its routes, its guidance or its icon', async () => {
    const openapi = (await agentcash.getOpenAPI(shop.url))._unsafeUnwrap()
    assert.ok(openapi !== null && !agentcash.isOpenApiParseFailure(openapi))
    assert.deepEqual(agentcash.getWarningsForOpenAPI(openapi), [])
    assert.deepEqual(agentcash.getWarningsForL2(agentcash.checkL2ForOpenAPI(openapi)), [])
    assert.deepEqual(agentcash.getWarningsForL4(agentcash.checkL4ForOpenAPI(openapi)), [])
    assert.deepEqual((await agentcash.getWarningsForFavicon(shop.url))._unsafeUnwrap(), [])
  })

  test('discover: every route is paid, and the owner of the money has signed for the origin', async () => {
    const found = await agentcash.discoverOriginSchema({ target: shop.url })
    assert.ok(found.found)
    assert.equal(found.trustTier, 'ownership_verified')
    assert.equal(found.endpoints.length, paid.length)
    for (const { path, authMode, protocols } of found.endpoints) {
      assert.equal(authMode, 'paid', path)
      assert.equal(protocols?.length, 1, path)
    }
  })

  test('check: neither the document nor the live 402 of any paid route raises an error or a warning', async () => {
    for (const { method, path } of paid) {
      for (const probe of [false, true]) {
        const checked = await agentcash.checkEndpointSchema({ url: shop.url + path, probe })
        assert.ok(checked.found, path)
        const own = checked.advisories.find((advisory) => advisory.method === method)
        assert.ok(own, path)
        assert.deepEqual(agentcash.getWarningsForL3(own), [], `${path} probe=${probe}`)
        assert.equal(own.authMode, 'paid')
      }
    }
  })

  test('x402scan: every 402 and the page of the shop are complete', async () => {
    const html = await (await fetch(shop.url)).text()
    const metadata = {
      title: /<title>(.*?)<\/title>/.exec(html)?.[1] ?? '',
      description: /name="description" content="(.*?)"/.exec(html)?.[1] ?? '',
      favicon: /rel="icon" href="(.*?)"/.exec(html)?.[1] ?? '',
      ogImages: [{ url: /property="og:image" content="(.*?)"/.exec(html)?.[1] ?? '' }],
    }
    for (const { method, path } of paid.filter(({ path }) => path.includes('x402'))) {
      const required = await (await fetch(shop.url + path, { method })).json()
      const { valid, issues } = agentcash.validatePaymentRequiredDetailed(required, { metadata })
      assert.deepEqual(issues, [], path)
      assert.equal(valid, true)
    }
  })
})

describe('the bazaar extension', () => {
  type Required = { readonly extensions: { readonly bazaar: DiscoveryExtension } }

  test('every x402 route declares itself to crawlers, validly, in a header below 8 KB', async () => {
    for (const { method, path, operation } of paid.filter(({ path }) => path.includes('x402'))) {
      const response = await fetch(shop.url + path, { method })
      const header = response.headers.get('payment-required')!
      assert.ok(header.length < 8_000, `${path}: ${header.length}`)
      const { extensions } = JSON.parse(Buffer.from(header, 'base64').toString()) as Required
      assert.deepEqual(validateDiscoveryExtension(extensions.bazaar), { valid: true }, path)
      assert.deepEqual(validateDiscoveryExtensionSpec({ ...extensions.bazaar }), { valid: true }, path)
      const { input } = extractDiscoveryInfoFromExtension(extensions.bazaar) as { input: Record<string, unknown> }
      assert.equal(input['method'], method)
      const example = operation.requestBody?.content['application/json']?.example
      assert.deepEqual(input['body'] ?? input['queryParams'], example ?? {})
    }
  })

  test('/discovery/resources is what a Bazaar client lists, and says what the live 402 says', async () => {
    const bazaar = withBazaar(new HTTPFacilitatorClient({ url: shop.url })).extensions.bazaar
    const { items, pagination } = await bazaar.listResources()
    const routes = paid.filter(({ path }) => path.includes('x402'))
    assert.equal(pagination.total, routes.length)
    for (const [index, { method, path }] of routes.entries()) {
      const item = items[index]!
      assert.equal(item.resource, shop.url + path)
      const live = (await (await fetch(item.resource, { method })).json()) as Required & {
        accepts: { extra: Record<string, unknown> }[]
      }
      const accepts = live.accepts.map(({ extra: { claim: _, ...extra }, ...terms }) => ({ ...terms, extra }))
      assert.deepEqual(item.accepts, accepts, path)
      assert.deepEqual(item.extensions?.['bazaar'], live.extensions.bazaar, path)
    }
  })
})

test('@redocly/cli lint finds nothing at all in any contract', async () => {
  const names = ['openapi.json', 'openapi.full.json', 'openapi.events.json', 'openapi.operator.json']
  const headers = { authorization: `Bearer ${shop.config.operatorToken!.reveal()}` }
  assert.deepEqual(await lint(shop.url, names, headers), [])
})
