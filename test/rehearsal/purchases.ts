import { encodeFunctionData } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { burnableCollection } from '../../src/artifacts/BurnableCollection.ts'
import type { Address } from '../../src/base/address.ts'
import { giveGas, giveToken } from '../../src/sandbox/world.ts'
import { mined, wallet } from '../devchain/support.ts'
import { mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import { until } from '../support/until.ts'
import { type Game, type Networks, PATH_USD, USDC } from './networks.ts'

export type Protocol = 'x402' | 'mpp'
export type Kind = 'lot' | 'item' | 'burn' | 'lookup' | 'health' | 'report'

/** What somebody wanted, with a wallet that wants nothing else: so the chain alone can say what became of it. */
export type Purchase = {
  readonly kind: Kind
  readonly protocol: Protocol
  readonly buyer: PrivateKeyAccount
  /** The lot or item, where there are several. */
  readonly what: string
  readonly begunAt: number
  /** As the buyer saw it. `refused`: an answer that says nothing was taken. `unanswered`: the buyer knows nothing. */
  readonly seen: 'done' | 'refused' | 'unanswered'
  readonly status: number
  readonly body: string
}

export type Market = {
  readonly url: string
  readonly networks: Networks
  readonly game: Game
  /** The controller that a burner approves. */
  readonly controller: Address
  /** When nobody waits any more. */
  readonly over: AbortSignal
  addPlayer(nickname: string, address: Address): Promise<void>
}

export type Wish = { readonly kind: Kind; readonly protocol: Protocol; readonly what: string }

export const nicknameOf = ({ address }: PrivateKeyAccount) => `p${address.slice(2, 18)}`

type Request = { readonly path: string; readonly init: RequestInit }

/** One agent with a stock client: asks, pays, and waits for the end of it as it is told to. */
export async function buy(market: Market, wish: Wish): Promise<Purchase> {
  const buyer = privateKeyToAccount(generatePrivateKey())
  const { path, init } = await prepare(market, wish, buyer)
  const begunAt = performance.now()
  try {
    const response = await payerOf(market, wish, buyer)(market.url + path, init)
    const { status, body } = await ended(response, market.over)
    const seen = status === 200 ? 'done' : isRefusal(status, body) ? 'refused' : 'unanswered'
    return { ...wish, buyer, begunAt, seen, status, body }
  } catch (error) {
    return { ...wish, buyer, begunAt, seen: 'unanswered', status: 0, body: String((error as Error).cause ?? error) }
  }
}

async function prepare(market: Market, { kind, protocol, what }: Wish, buyer: PrivateKeyAccount): Promise<Request> {
  const { networks, game, controller } = market
  const { native, tempo } = networks.chains
  await Promise.all([
    giveToken(native, USDC, buyer.address, 100_000_000n),
    giveToken(tempo, PATH_USD, buyer.address, 100_000_000n),
  ])
  const { address } = buyer
  switch (kind) {
    case 'lot':
      return { path: `/agentic/${protocol}/buy`, init: post({ saleId: Number(what), beneficiary: address }) }
    case 'item':
      await market.addPlayer(nicknameOf(buyer), address)
      return { path: `/shop/${protocol}/buy`, init: post({ itemId: what, nickname: nicknameOf(buyer) }) }
    case 'burn': {
      await giveGas(native, address, 10n ** 18n)
      const tokenId = await game.mint(address)
      const { abi } = burnableCollection
      const data = encodeFunctionData({ abi, functionName: 'approve', args: [controller, BigInt(tokenId)] })
      const signer = wallet(native, buyer)
      await mined(signer, signer.sendTransaction({ to: game.collection, data }))
      const nfts = [{ contract: game.collection, tokenId }]
      return { path: `/craft/${protocol}/burn`, init: post({ user: address, nfts }) }
    }
    case 'lookup':
      await market.addPlayer(nicknameOf(buyer), address)
      return { path: '/shop/mpp/player-lookup', init: post({}) }
    case 'health':
      return { path: '/x402/cheap-health', init: {} }
    case 'report': {
      const txHash = `0x${address.slice(2).toLowerCase().padStart(64, '0')}`
      return { path: '/x402/report-tx', init: post({ userId: address, txHash }) }
    }
  }
}

function payerOf({ networks }: Market, { protocol }: Wish, buyer: PrivateKeyAccount): Pay {
  return protocol === 'x402' ? x402Payer(buyer) : mppPayer(networks, buyer, 'pull')
}

/** 202: paid, and not yet delivered. The answer says where to ask. */
async function ended(
  response: Response,
  over: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  let { status } = response
  let body = await response.text()
  if (status !== 202) return { status, body }
  const { statusUrl } = JSON.parse(body) as { statusUrl: string }
  await until(async () => {
    const answer = await fetch(statusUrl).catch(() => null)
    if (answer) ({ status, body } = { status: answer.status, body: await answer.text() })
    return over.aborted || (answer !== null && status === 200)
  })
  return { status, body }
}

/** Our own words, and not those of a proxy: before money moves we say so. */
function isRefusal(status: number, body: string): boolean {
  return [402, 403, 404, 409, 429, 503].includes(status) && body.includes('"code"')
}
