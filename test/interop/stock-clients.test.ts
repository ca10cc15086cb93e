import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { promisify } from 'node:util'
import { evm, Mppx } from 'mppx/client'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../src/base/hex.ts'
import { type RpcServer, serveRpc } from '../../src/devchain/server.ts'
import { nftsOf, transfers } from '../crash/flows.ts'
import { fundedWallet, mppPayer, post, x402Payer } from '../support/buyers.ts'
import { startChild } from '../support/child.ts'
import { mppPullUnderTest, x402UnderTest } from '../support/credentials.ts'
import { startShop, type TestShop } from '../support/shop.ts'

// Clients that we did not write, as they come from the registry, each buy a lot of the running shop. What they paid and what they got
// is read from the chain; of the shop's answer only the status counts.

const LOT = 392
const PRICE = 250_000n
const QUANTITY = 3

/** A stock client: told where to buy what, and whose key pays. It resolves with the status that it saw at the end. */
type StockClient = {
  readonly name: string
  readonly rail: typeof x402UnderTest
  buy(url: string, body: object, key: Hex): Promise<number>
}

describe('a lot is bought by', () => {
  let shop: TestShop
  let rpc: RpcServer
  before(async () => {
    shop = await startShop()
    rpc = await serveRpc(shop.chains.tempo)
  })
  after(async () => {
    await rpc.close()
    await shop.stop()
  })

  const clients: readonly StockClient[] = [
    {
      name: '@x402/fetch',
      rail: x402UnderTest,
      buy: async (url, body, key) => (await x402Payer(privateKeyToAccount(key))(url, post(body))).status,
    },
    {
      name: '@x402/axios, in a process of its own',
      rail: x402UnderTest,
      async buy(url, body, key) {
        const script = join(import.meta.dirname, 'children/axios-buyer.ts')
        const child = startChild(script, [JSON.stringify({ url, key, body })])
        const [status] = await child.rest()
        return Number(status)
      },
    },
    {
      name: 'the x402 client of mppx',
      rail: x402UnderTest,
      async buy(url, body, key) {
        const methods = [evm({ account: privateKeyToAccount(key) })]
        return (await Mppx.create({ methods, polyfill: false }).fetch(url, post(body))).status
      },
    },
    ...(['pull', 'push'] as const).map(
      (mode): StockClient => ({
        name: `mppx by ${mode}`,
        rail: mppPullUnderTest,
        buy: async (url, body, key) => (await mppPayer(shop, privateKeyToAccount(key), mode)(url, post(body))).status,
      }),
    ),
    {
      name: 'the mppx command',
      rail: mppPullUnderTest,
      async buy(url, body, key) {
        const command = join(import.meta.dirname, '../../node_modules/.bin/mppx')
        const { stdout } = await promisify(execFile)(
          process.execPath,
          [command, '--include', '--json-body', JSON.stringify(body), url],
          { env: { ...process.env, MPPX_RPC_URL: rpc.url, MPPX_PRIVATE_KEY: key, NO_COLOR: '1' } },
        )
        // It shows every answer that it got: the 402 first.
        return Number([...stdout.matchAll(/^HTTP\/1\.1 (\d{3})/gm)].at(-1)?.[1])
      },
    },
  ]

  for (const { name, rail, buy } of clients) {
    test(name, async (t) => {
      const { chains, config } = shop
      const till = rail.rail === 'x402' ? config.x402!.payTo : config.mpp!.recipient
      const key = generatePrivateKey()
      const { address } = await fundedWallet(shop, 10n, privateKeyToAccount(key))
      const body = { saleId: LOT, quantity: QUANTITY, beneficiary: address }
      assert.equal(await buy(`${shop.url}/agentic/${rail.rail}/buy`, body, key), 200)
      const paid = await transfers(shop, rail, address, till)
      const owned = await nftsOf(chains, config.game.sale!.contract, address)
      assert.deepEqual({ paid, owned }, { paid: [PRICE * BigInt(QUANTITY)], owned: QUANTITY })
      t.diagnostic(`on the chain: ${paid.length} payment of ${paid[0]} atomic units, ${owned} tokens`)
    })
  }
})
