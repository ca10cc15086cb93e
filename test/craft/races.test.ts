import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Address } from '../../src/base/address.ts'
import type { WaypointName } from '../../src/base/waypoint.ts'
import { craftActionSchema } from '../../src/surfaces/craft/view.ts'
import { post } from '../support/buyers.ts'
import { erc20Balance, nftOwner, startShop, type TestShop } from '../support/shop.ts'
import {
  accelerateOf,
  approveAll,
  approveTokens,
  burnOf,
  type Crafter,
  crafterAtWork,
  disapproveNft,
  finalStatus,
  giveAway,
  giveTokens,
  PRICE,
  type Protocol,
  readyCrafter,
  refunded,
  TOKEN,
  timersOf,
} from './workshop.ts'

// What happens when the world moves while an action is under way, or several actions want the same thing.

/** Done once, when the shop has passed these steps one after the other. */
type Interruption = { path: readonly WaypointName[]; readonly act: () => Promise<unknown> }

let interruption: Interruption | null = null
let shop: TestShop
let otherReplica: string
before(async () => {
  shop = await startShop({
    // Every answer here is the last one, however busy the machine is.
    configure: (config) => ({ ...config, limits: { ...config.limits, waitMsMax: 600_000 } }),
    async waypoint(name) {
      if (interruption?.path[0] !== name) return
      const { path, act } = interruption
      interruption = path.length === 1 ? null : { path: path.slice(1), act }
      if (path.length === 1) await act()
    },
  })
  otherReplica = (await shop.replica()).url
})
after(() => shop.stop())

type Refusal = {
  readonly code: string
  readonly reason?: string
  readonly payment: { readonly taken: unknown }
  readonly retry: { readonly statusUrl: string }
}

const tokensOf = (owner: Address) => erc20Balance(shop.chains.native, shop.world.contracts.craftToken, owner)

/** What the shop has taken over both protocols so far; both dollars have the same size. */
async function earned(): Promise<bigint> {
  const { x402, mpp } = shop.config
  const native = await erc20Balance(shop.chains.native, x402!.asset, x402!.payTo)
  return native + (await erc20Balance(shop.chains.tempo, mpp!.currency.address, mpp!.recipient))
}

async function countBy<Item>(items: readonly Item[], keyOf: (item: Item) => Promise<string>) {
  const keys = await Promise.all(items.map(keyOf))
  return Object.fromEntries([...Map.groupBy(keys, (key) => key)].map(([key, group]) => [key, group.length]))
}

const said = async (response: Response) => `${response.status} ${((await response.json()) as Refusal).code ?? 'done'}`

/** A request that waits for another one just like it is told of a doubt, and one that comes later of the allowance. */
const cost = async (response: Response) =>
  response.status === 200 ? 'paid' : `${response.status} ${((await response.json()) as Refusal).payment.taken}`

/** All at once, over two replicas and both protocols. */
function manyAccelerations(crafter: Crafter, count: number, amount: bigint): Promise<readonly Response[]> {
  const calls = Array.from({ length: count }, (_, index) => {
    const protocol = index % 2 === 0 ? 'x402' : 'mpp'
    const base = index % 4 < 2 ? shop.url : otherReplica
    return crafter.pay[protocol](`${base}/craft/${protocol}/accelerate`, accelerateOf(crafter, amount))
  })
  return Promise.all(calls)
}

test('F-03: of ten parallel accelerations on an allowance for one, exactly one is paid, the others refused unpaid', async () => {
  const crafter = await crafterAtWork(shop, TOKEN)
  const before = { earned: await earned(), tokens: await tokensOf(crafter.address) }
  const responses = await manyAccelerations(crafter, 10, TOKEN)
  assert.deepEqual(await countBy(responses, cost), { paid: 1, '409 false': 9 })
  assert.equal((await earned()) - before.earned, PRICE)
  assert.equal(before.tokens - (await tokensOf(crafter.address)), TOKEN)
})

test('F-03: craft tokens that an open action will be charged are not there for another one', async () => {
  const crafter = await crafterAtWork(shop)
  await giveTokens(shop, crafter, shop.world.deployer.address, 99n * TOKEN)
  const during: { other?: Response } = {}
  interruption = {
    path: ['order.opened'],
    async act() {
      during.other = await crafter.pay.mpp(`${shop.url}/craft/mpp/accelerate`, accelerateOf(crafter, TOKEN))
    },
  }
  const first = await crafter.pay.x402(`${shop.url}/craft/x402/accelerate`, accelerateOf(crafter, TOKEN))
  assert.deepEqual([await said(during.other!), await said(first)], ['409 balance_insufficient', '200 done'])
})

test('F-03: an allowance that another uses up between the check and the hold is read again, and nothing is taken', async () => {
  const crafter = await crafterAtWork(shop)
  const during: { other?: Response } = {}
  interruption = {
    path: ['order.opening'],
    async act() {
      during.other = await crafter.pay.mpp(`${otherReplica}/craft/mpp/accelerate`, accelerateOf(crafter, TOKEN))
    },
  }
  const late = await crafter.pay.x402(`${shop.url}/craft/x402/accelerate`, accelerateOf(crafter, TOKEN))
  assert.equal(await said(during.other!), '200 done')
  const { code, payment } = (await late.json()) as Refusal
  assert.deepEqual([late.status, code, payment.taken], [409, 'allowance_insufficient', false])
})

test('F-03: an NFT that another action burns between the check and the lock is looked at again, and nothing is taken', async () => {
  const crafter = await readyCrafter(shop)
  const nft = crafter.nfts[0]!
  interruption = {
    path: ['order.opening'],
    act: () => crafter.pay.mpp(`${otherReplica}/craft/mpp/burn`, burnOf(crafter, [nft])),
  }
  const late = await crafter.pay.x402(`${shop.url}/craft/x402/burn`, burnOf(crafter, [nft]))
  const { code, payment } = (await late.json()) as Refusal
  assert.deepEqual([late.status, code, payment.taken], [403, 'nft_not_owned', false])
})

test('F-03: the same NFT in two actions at once, over two protocols and two replicas: one burns it, one is refused unpaid', async () => {
  const crafter = await readyCrafter(shop)
  const nft = crafter.nfts[0]!
  const before = await earned()
  const during: { refusal?: Response; quote?: { checks: { code: string | null }[] } } = {}
  interruption = {
    path: ['order.opened'],
    async act() {
      during.refusal = await crafter.pay.mpp(`${otherReplica}/craft/mpp/burn`, burnOf(crafter, crafter.nfts))
      const response = await fetch(
        `${shop.url}/craft/mpp/quote`,
        post({ type: 'burn', user: crafter.address, nfts: [nft] }),
      )
      during.quote = (await response.json()) as NonNullable<(typeof during)['quote']>
    },
  }
  const response = await crafter.pay.x402(`${shop.url}/craft/x402/burn`, burnOf(crafter, [nft]))
  assert.equal(response.status, 200)
  const { code, payment } = (await during.refusal!.json()) as Refusal
  assert.deepEqual([during.refusal!.status, code, payment.taken], [409, 'nft_in_use', false])
  assert.deepEqual(
    during.quote!.checks.flatMap(({ code }) => code ?? []),
    ['nft_in_use'],
  )
  assert.equal((await earned()) - before, PRICE)
  // The lock ended with its action: the others are free again.
  const rest = await crafter.pay.mpp(`${shop.url}/craft/mpp/burn`, burnOf(crafter, crafter.nfts.slice(1)))
  assert.equal(rest.status, 200)
})

/** Moments after the check at which the world may still change: before the payment, after it, before the last look, after it. */
const moments: readonly (readonly WaypointName[])[] = [
  ['order.opened'],
  ['order.settled'],
  ['deliver.begun'],
  ['deliver.begun', 'send.signed'],
]

/** Pays while the world changes; the payment must come back in full. */
async function comesBack(
  protocol: Protocol,
  crafter: Crafter,
  action: 'burn' | 'accelerate',
  request: RequestInit,
  reason: string,
) {
  const response = await crafter.pay[protocol](`${shop.url}/craft/${protocol}/${action}`, request)
  assert.equal(interruption, null)
  const problem = (await response.json()) as Refusal
  assert.deepEqual(
    [response.status, problem.code, problem.reason, problem.payment.taken],
    [409, 'fulfilment_failed', reason, true],
  )
  const ended = craftActionSchema.parse(await finalStatus(problem.retry.statusUrl))
  assert.deepEqual([ended.status, ended.error?.code, ended.actionTx], ['refunded', reason, null])
  assert.equal(await refunded(shop, protocol, ended), PRICE)
}

for (const path of moments) {
  const moment = path.join(', then ')

  test(`F-10: an NFT sold after the check, at ${moment}: nothing is burned, and the payment comes back`, async () => {
    const crafter = await readyCrafter(shop)
    const other = await readyCrafter(shop)
    interruption = { path, act: () => giveAway(crafter, crafter.nfts[1]!, other.address) }
    await comesBack('x402', crafter, 'burn', burnOf(crafter, crafter.nfts), 'nft_not_owned')
    const owners = await Promise.all(
      crafter.nfts.map(({ contract, tokenId }) => nftOwner(shop.chains.native, contract, tokenId)),
    )
    assert.deepEqual(
      owners,
      [crafter, other, crafter].map(({ address }) => address.toLowerCase()),
    )
    assert.deepEqual(await timersOf(shop, crafter), [])
    // The two that stayed can be burned at once: the lock is gone.
    const rest = [crafter.nfts[0]!, crafter.nfts[2]!]
    assert.equal((await crafter.pay.x402(`${shop.url}/craft/x402/burn`, burnOf(crafter, rest))).status, 200)
  })
}

// The last look sees NFTs, approvals and allowances alike, however long before it they changed: for these once before it and once after it.
for (const path of moments.slice(2)) {
  const moment = path.join(', then ')

  test(`F-10: an approval taken back after the check, at ${moment}: nothing is burned, and the payment comes back`, async () => {
    const crafter = await readyCrafter(shop)
    const { contract, tokenId } = crafter.nfts[0]!
    // It counts for nothing, here neither.
    await approveAll(shop, crafter, contract, true)
    interruption = { path, act: () => disapproveNft(crafter, crafter.nfts[0]!) }
    await comesBack('mpp', crafter, 'burn', burnOf(crafter, crafter.nfts), 'nft_not_approved')
    assert.equal(await nftOwner(shop.chains.native, contract, tokenId), crafter.address.toLowerCase())
  })

  test(`F-10: an allowance taken back after the check, at ${moment}: nothing is charged, and the payment comes back`, async () => {
    const crafter = await crafterAtWork(shop)
    interruption = { path, act: () => approveTokens(shop, crafter, 0n) }
    await comesBack('x402', crafter, 'accelerate', accelerateOf(crafter), 'allowance_insufficient')
    assert.equal(await tokensOf(crafter.address), 100n * TOKEN)
  })
}

test('F-10: a balance spent elsewhere after the check: nothing is charged, and the payment comes back', async () => {
  const crafter = await crafterAtWork(shop)
  const elsewhere = shop.world.deployer.address
  interruption = { path: ['order.settled'], act: () => giveTokens(shop, crafter, elsewhere, 100n * TOKEN) }
  await comesBack('mpp', crafter, 'accelerate', accelerateOf(crafter), 'balance_insufficient')
})
