import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RpcTransport } from '../../../src/chain/transport.ts'
import { said } from '../../checkout/counter.ts'
import { preempt, type X402Payment } from '../../checkout/x402-wallet.ts'
import { payFor } from '../../operations/desk.ts'
import { fundedWallet, post } from '../../support/buyers.ts'
import { x402UnderTest } from '../../support/credentials.ts'
import { plainTransports, startChains, startShop } from '../../support/shop.ts'

const MOVED_TO = 8453
/** `authorizationState(address,bytes32)`. */
const AUTHORIZATION_STATE = '0xe94a0102'

// A node that is a block behind has not seen it either; on the network where the shop sells, the revert of our own transaction would tell.
test('E69: what a stranger has carried to an earlier chain is not called free because the first of two nodes does not show it', async (t) => {
  const shop = await startShop({ withoutWorker: true })
  const elsewhere = await startChains()
  t.after(async () => {
    await shop.stop()
    await elsewhere.close()
  })
  const { chainId } = shop.chains.native
  const plain = plainTransports(shop.chains)
  const former = plain.get(chainId) as RpcTransport
  const behind: RpcTransport = async (request, max) => {
    const [call] = request.params as readonly { readonly data?: string }[]
    const isAsked = request.method === 'eth_call' && call?.data?.startsWith(AUTHORIZATION_STATE)
    return isAsked ? { jsonrpc: '2.0', id: request.id, result: `0x${'0'.repeat(64)}` } : former(request, max)
  }
  const moved: RpcTransport = async ({ id, method, params }) => ({
    jsonrpc: '2.0',
    id,
    result:
      method === 'eth_chainId'
        ? `0x${MOVED_TO.toString(16)}`
        : await elsewhere.native.request({ method, params: [...params] }),
  })
  const { url } = await shop.replica({
    configure: (config) => {
      const x402 = config.x402!
      const chain = { ...x402.chain, chainId: MOVED_TO }
      return {
        ...config,
        x402: { ...x402, network: `eip155:${MOVED_TO}`, chain },
        retired: [{ rail: 'x402', config: x402 }],
      }
    },
    transports: new Map([...plain, [chainId, [behind, former]], [MOVED_TO, moved]]),
  })
  const { request, credential } = await payFor(shop, x402UnderTest, await fundedWallet(shop))
  await preempt(shop, JSON.parse(Buffer.from(credential, 'base64').toString()) as X402Payment)
  const answer = await fetch(`${url}/agentic/x402/buy`, post(request, { [x402UnderTest.header]: credential }))
  assert.deepEqual([answer.status, (await said(answer)).payment.taken], [409, true])
})
