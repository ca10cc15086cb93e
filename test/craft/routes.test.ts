import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { fund } from '../../src/sandbox/faucet.ts'
import { craftConfigSchema } from '../../src/surfaces/craft/config.ts'
import { deafReceiver } from '../artifacts/DeafReceiver.ts'
import { deploy } from '../devchain/support.ts'
import { post, x402Payer } from '../support/buyers.ts'
import { erc20Balance, nftOwner, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import { accelerateOf, burnOf, newCrafter, protocols, readyCrafter, TOKEN } from './workshop.ts'

// Two hosts, and a chain without Multicall3.

const MULTICALL3 = '0xca11bde05977b3631167028862be2a173976ca11'
const hosts = { mpp: 'mpp.shop.test', x402: 'x402.shop.test' }

let shop: TestShop
let multicalls = 0
before(async () => {
  shop = await startShop({
    env: { SUTLER_BASE_URL: `http://${hosts.mpp}`, SUTLER_X402_BASE_URL: `http://${hosts.x402}` },
    wrapTransport: (_chainId, transport) => async (call) => {
      const isAboutMulticall = JSON.stringify(call.params).toLowerCase().includes(MULTICALL3)
      if (isAboutMulticall && call.method === 'eth_getCode') return { result: '0x' }
      if (isAboutMulticall) multicalls++
      return transport(call)
    },
  })
})
after(() => shop.stop())

type Answer = { readonly status: number; readonly headers: Headers; readonly text: string }

/** As a proxy would ask: fetch does not let its caller choose the Host. */
function ask(host: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const { port } = new URL(shop.service.url)
  const headers = { ...(init.headers as Record<string, string>), host }
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, path, method: init.method ?? 'GET', headers }, async (response) => {
      const chunks: Buffer[] = await response.toArray()
      const pairs = Object.entries(response.headersDistinct).flatMap(([name, values]) =>
        (values ?? []).map((value): [string, string] => [name, value]),
      )
      resolve({ status: response.statusCode!, headers: new Headers(pairs), text: Buffer.concat(chunks).toString() })
    })
    call.on('error', reject)
    call.end(init.body as string | undefined)
  })
}

test('the x402 craft routes answer on both hosts, the MPP craft routes on theirs alone', async () => {
  verifies('4.3.12', 'D1.2')
  const someone = { address: '0x00000000000000000000000000000000000000aa' } as const
  const nft = { contract: someone.address, tokenId: '1' }
  for (const asked of protocols) {
    for (const protocol of protocols) {
      const isServed = protocol === 'x402' || asked === 'mpp'
      const path = `/craft/${protocol}`
      const statuses = await Promise.all([
        ask(hosts[asked], `${path}/config`),
        ask(hosts[asked], `${path}/quote`, post({ type: 'burn', user: someone.address, nfts: [nft] })),
        ask(hosts[asked], `${path}/burn`, burnOf(someone, [nft])),
        ask(hosts[asked], `${path}/accelerate`, accelerateOf(someone)),
        ask(hosts[asked], `${path}/actions/0x${'ab'.repeat(32)}`),
      ])
      const expected = isServed ? [200, 200, 402, 402, 404] : [404, 404, 404, 404, 404]
      assert.deepEqual([asked, protocol, ...statuses.map(({ status }) => status)], [asked, protocol, ...expected])
      const told = (JSON.parse(statuses[0]!.text) as { detail?: string }).detail
      assert.equal(told, isServed ? undefined : `This route is served at http://${hosts.mpp}${path}/config.`)
    }
  }
})

test('the config tells everything that an agent needs before its first action', async () => {
  verifies(
    '1.6',
    '4.3.2',
    '5.4.1',
    '5.4.2',
    '5.4.3',
    '5.4.4',
    '5.4.5',
    '5.4.6',
    '5.4.7',
    '5.4.8',
    '9.1',
    'D2.4',
    'D7.1',
  )
  const { x402, mpp, game } = shop.config
  const { craftController, craftToken, collections } = shop.world.contracts
  for (const protocol of protocols) {
    const { status, text } = await ask(hosts[protocol], `/craft/${protocol}/config`)
    assert.equal(status, 200)
    const config = craftConfigSchema.parse(JSON.parse(text))
    assert.deepEqual(
      [config.version, config.network, config.chainId, config.controller],
      ['1.1.0', 'eip155:84532', 84532, { address: craftController, paused: false }],
    )
    assert.deepEqual(config.craftToken, { address: craftToken, symbol: 'EMBER', decimals: 18 })
    assert.deepEqual(
      config.collections.map(({ contract }) => contract),
      collections,
    )
    assert.deepEqual(config.limits, { nftsMin: 1, nftsMax: 20 })
    const { defaultAmount, maxAmount } = game.craft!
    assert.deepEqual(config.accelerate, {
      defaultAmount: String(defaultAmount),
      maxAmount: String(maxAmount),
      secondsPerToken: '600',
    })
    assert.deepEqual(
      config.approvals.map(({ action, spender, contracts }) => ({ action, spender, contracts })),
      [
        { action: 'burn', spender: craftController, contracts: collections },
        { action: 'accelerate', spender: craftController, contracts: [craftToken] },
      ],
    )
    assert.deepEqual(
      config.statuses.flatMap(({ status, isFinal }) => (isFinal ? [status] : [])),
      ['confirmed', 'refunded', 'expired'],
    )
    assert.ok(config.errors.some(({ code, httpStatus }) => code === 'nft_in_use' && httpStatus === 409))
    assert.equal(config.routes['burn'], `http://${hosts[protocol]}/craft/${protocol}/burn`)
    const price = { mode: 'fixed', currency: 'USD', amount: '0.001' }
    // The words of contract 5.4.1 and those after it, to the letter; the x402 twin speaks its own protocol's words.
    const terms = {
      mpp: {
        method: 'tempo/charge',
        intent: 'purchase',
        network: 'tempo:42431',
        currency: mpp!.currency.address,
        recipient: mpp!.recipient,
        price,
        authMode: 'paid',
        retryHeader: 'Authorization: Payment',
      },
      x402: {
        scheme: 'exact',
        network: 'eip155:84532',
        asset: x402!.asset,
        payTo: x402!.payTo,
        price,
        authMode: 'paid',
        retryHeader: 'PAYMENT-SIGNATURE',
      },
    }[protocol]
    assert.deepEqual({ ...config.payment, ...terms }, config.payment)
  }
})

test('without Multicall3 the same is asked in single calls', async () => {
  const crafter = await readyCrafter(shop)
  const pay = x402Payer(crafter.account, throughProxy)
  const burned = await pay(`http://${hosts.mpp}/craft/x402/burn`, burnOf(crafter, crafter.nfts))
  assert.equal(burned.status, 200)
  const accelerated = await pay(`http://${hosts.x402}/craft/x402/accelerate`, accelerateOf(crafter))
  assert.equal(accelerated.status, 200)
  const gone = await pay(`http://${hosts.x402}/craft/x402/burn`, burnOf(crafter, crafter.nfts))
  assert.equal(gone.status, 403)
  assert.equal(multicalls, 0)
})

test('the faucet gives everything that the routes need, each time, and nothing by halves', async () => {
  verifies('D12.4')
  const { address, wallet } = await newCrafter(shop)
  const { funded, nfts } = await fund(shop.world, address)
  assert.deepEqual(funded, { gas: '1', USDC: '1000.00', pathUSD: '1000.00', craftTokens: '100' })
  assert.equal(nfts.length, 3)
  for (const { contract, tokenId } of nfts)
    assert.equal(await nftOwner(shop.chains.native, contract, tokenId), address.toLowerCase())
  const { native, tempo } = shop.chains
  const { x402, mpp } = shop.config
  assert.equal(await erc20Balance(native, x402!.asset, address), 2_000_000_000n)
  assert.equal(await erc20Balance(tempo, mpp!.currency.address, address), 2_000_000_000n)
  assert.equal(await erc20Balance(native, shop.world.contracts.craftToken, address), 200n * TOKEN)
  const deaf = await deploy(wallet, deafReceiver, [])
  await assert.rejects(fund(shop.world, deaf), { code: 'beneficiary_rejects' })
  assert.equal(await erc20Balance(native, x402!.asset, deaf), 0n)
})

/** A client that reaches the shop under its public names. */
async function throughProxy(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const call = new Request(input, init)
  const { host, pathname } = new URL(call.url)
  const { status, headers, text } = await ask(host, pathname, {
    method: call.method,
    headers: Object.fromEntries(call.headers),
    body: await call.text(),
  })
  return new Response(text, { status, headers })
}
