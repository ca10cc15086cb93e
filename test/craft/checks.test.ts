import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { burnableCollection } from '../../src/artifacts/BurnableCollection.ts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { lyingCollection } from '../artifacts/LyingCollection.ts'
import { deploy, mined } from '../devchain/support.ts'
import { post } from '../support/buyers.ts'
import { erc20Balance, startShop, type TestShop } from '../support/shop.ts'
import { verifies } from '../support/verifies.ts'
import {
  accelerateOf,
  administer,
  approveAll,
  approveNfts,
  burnOf,
  type Crafter,
  crafterAtWork,
  newCrafter,
  type Protocol,
  protocols,
  readyCrafter,
  TOKEN,
} from './workshop.ts'

// Every reason why not, asked twice: of the quote, which tells them all for free, and of the paid route, which takes nothing.

const blocked = privateKeyToAccount(generatePrivateKey())

let shop: TestShop
before(async () => {
  shop = await startShop({ env: { SUTLER_BLOCKED_PAYERS: blocked.address } })
})
after(() => shop.stop())

type Fix = { readonly to: Address; readonly data: Hex; readonly description: string }
type Check = { readonly check: string; readonly ok: boolean; readonly code: string | null; readonly fix: Fix | null }
type Quote = { readonly executable: boolean; readonly checks: readonly Check[]; readonly next: unknown }
type Refusal = {
  readonly code: string
  readonly payment: { readonly taken: unknown }
  readonly errors: readonly { readonly pointer: string }[]
  readonly fix?: Fix
}
type Action = 'burn' | 'accelerate'

async function quoteOf(protocol: Protocol, type: Action, { body }: RequestInit): Promise<Quote> {
  const request = { type, ...(JSON.parse(body as string) as object) }
  const response = await fetch(`${shop.url}/craft/${protocol}/quote`, post(request))
  assert.equal(response.status, 200)
  return (await response.json()) as Quote
}

const failed = ({ checks }: Quote) => checks.flatMap(({ ok, check, code }) => (ok ? [] : [`${check} ${code}`]))

const dollars = async ({ address }: Crafter) =>
  (await erc20Balance(shop.chains.native, shop.config.x402!.asset, address)) +
  (await erc20Balance(shop.chains.tempo, shop.config.mpp!.currency.address, address))

/** The quote names exactly these checks, and the paid route answers with the first of them and takes nothing. */
async function refused(
  payer: Crafter,
  type: Action,
  request: RequestInit,
  expected: { readonly status: number; readonly checks: readonly string[] },
): Promise<Refusal> {
  const before = await dollars(payer)
  let refusal: Refusal | undefined
  for (const protocol of protocols) {
    const quote = await quoteOf(protocol, type, request)
    assert.deepEqual(failed(quote), expected.checks)
    assert.deepEqual([quote.executable, quote.next], [false, null])
    const response = await payer.pay[protocol](`${shop.url}/craft/${protocol}/${type}`, request)
    refusal = (await response.json()) as Refusal
    assert.deepEqual(
      [response.status, refusal.code, refusal.payment.taken],
      [expected.status, expected.checks[0]!.split(' ')[1], false],
    )
  }
  assert.equal(await dollars(payer), before)
  return refusal!
}

async function sign({ wallet }: Crafter, { to, data }: Fix): Promise<void> {
  await mined(wallet, wallet.sendTransaction({ to, data }))
}

const fixesIn = ({ checks }: Quote) => checks.flatMap(({ fix }) => fix ?? [])

test('A-01: nobody pays to burn or charge the approved tokens of somebody else', async () => {
  verifies('D7.4')
  const owner = await crafterAtWork(shop)
  const payer = await readyCrafter(shop)
  const before = await dollars(payer)
  const requests = { burn: burnOf(owner, owner.nfts.slice(1)), accelerate: accelerateOf(owner) }
  for (const type of ['burn', 'accelerate'] as const) {
    for (const protocol of protocols) {
      assert.equal((await quoteOf(protocol, type, requests[type])).executable, true)
      const response = await payer.pay[protocol](`${shop.url}/craft/${protocol}/${type}`, requests[type])
      const { code, payment } = (await response.json()) as Refusal
      assert.deepEqual([response.status, code, payment.taken], [403, 'payer_not_user', false])
    }
  }
  assert.equal(await dollars(payer), before)
})

test('A-09: a blocked payer hears so before paying', async () => {
  const crafter = await newCrafter(shop, blocked)
  await approveNfts(shop, crafter, crafter.nfts)
  await refused(crafter, 'burn', burnOf(crafter, crafter.nfts), { status: 403, checks: ['payer payer_blocked'] })
})

test('M-16: a collection outside the list is refused, whatever it says of its tokens', async () => {
  const crafter = await readyCrafter(shop)
  const { wallet, address } = crafter
  const stranger = await deploy(wallet, burnableCollection, ['Stranger', 'STR', '', address])
  await mined(
    wallet,
    wallet.writeContract({ address: stranger, abi: burnableCollection.abi, functionName: 'mint', args: [address, 1n] }),
  )
  await approveAll(shop, crafter, stranger, true)
  const strange = [{ contract: stranger, tokenId: '1' }, crafter.nfts[0]!, { contract: address, tokenId: '1' }]
  const { errors } = await refused(crafter, 'burn', burnOf(crafter, strange), {
    status: 403,
    checks: ['collection contract_not_allowed'],
  })
  assert.deepEqual(
    errors.map(({ pointer }) => pointer),
    ['/nfts/0', '/nfts/2'],
  )
})

test('an NFT of somebody else, or one that never was, is refused', async () => {
  const crafter = await readyCrafter(shop)
  const other = await readyCrafter(shop)
  const never = { contract: crafter.nfts[0]!.contract, tokenId: '999999999' }
  const { errors } = await refused(crafter, 'burn', burnOf(crafter, [crafter.nfts[0]!, other.nfts[0]!, never]), {
    status: 403,
    checks: ['ownership nft_not_owned'],
  })
  assert.deepEqual(
    errors.map(({ pointer }) => pointer),
    ['/nfts/1', '/nfts/2'],
  )
})

test('F-10, M-16: a collection that says it moved a token and did not is found out before anybody pays', async () => {
  const crafter = await readyCrafter(shop)
  const { wallet, address } = crafter
  const liar = await deploy(wallet, lyingCollection, [])
  await mined(
    wallet,
    wallet.writeContract({ address: liar, abi: lyingCollection.abi, functionName: 'mint', args: [address, 1n] }),
  )
  await approveNfts(shop, crafter, [{ contract: liar, tokenId: '1' }])
  await administer(shop, 'setCollectionAllowed', [liar, true])
  const nfts = [crafter.nfts[0]!, { contract: liar, tokenId: '1' }]
  await refused(crafter, 'burn', burnOf(crafter, nfts), { status: 403, checks: ['execution contract_not_allowed'] })
  await administer(shop, 'setCollectionAllowed', [liar, false])
})

test('a single NFT without approval: the fix approves it alone, and the same request then goes through', async () => {
  verifies('D7.3', 'D7.5')
  const crafter = await newCrafter(shop)
  const request = burnOf(crafter, crafter.nfts.slice(0, 1))
  const { fix } = await refused(crafter, 'burn', request, { status: 409, checks: ['approval nft_not_approved'] })
  const quote = await quoteOf('mpp', 'burn', request)
  assert.deepEqual(fixesIn(quote), [fix])
  await sign(crafter, fix!)
  assert.equal((await quoteOf('mpp', 'burn', request)).executable, true)
  // Only that one: the others stay out of reach.
  const rest = await quoteOf('mpp', 'burn', burnOf(crafter, crafter.nfts))
  assert.deepEqual(failed(rest), ['approval nft_not_approved', 'approval nft_not_approved'])
  assert.equal((await crafter.pay.mpp(`${shop.url}/craft/mpp/burn`, request)).status, 200)
})

test('an approval of a whole collection: the fixes approve each NFT alone, and the same request then goes through', async () => {
  verifies('D7.3', 'D7.4', 'D7.10')
  const crafter = await newCrafter(shop)
  const request = burnOf(crafter, crafter.nfts)
  await approveAll(shop, crafter, crafter.nfts[0]!.contract, true)
  const checks = crafter.nfts.map(() => 'approval approval_too_wide')
  const { fix, errors } = await refused(crafter, 'burn', request, { status: 403, checks })
  assert.deepEqual(
    errors.map(({ pointer }) => pointer),
    ['/nfts/0', '/nfts/1', '/nfts/2'],
  )
  const fixes = fixesIn(await quoteOf('x402', 'burn', request))
  assert.deepEqual(fixes[0], fix)
  for (const one of fixes) await sign(crafter, one)
  assert.equal((await quoteOf('x402', 'burn', request)).executable, true)
  assert.equal((await crafter.pay.mpp(`${shop.url}/craft/mpp/burn`, request)).status, 200)
})

test('an allowance that is too wide, by a single unit: the fix lowers it, and the same request then goes through', async () => {
  verifies('D7.3', 'D7.4', 'D7.10')
  const crafter = await crafterAtWork(shop, 2n * TOKEN + 1n)
  const request = accelerateOf(crafter, 2n * TOKEN)
  const checks = ['allowance approval_too_wide']
  const { fix } = await refused(crafter, 'accelerate', request, { status: 403, checks })
  await sign(crafter, fix!)
  assert.equal((await crafter.pay.mpp(`${shop.url}/craft/mpp/accelerate`, request)).status, 200)
})

test('a balance that is too low is refused; no transaction of the user can mend it', async () => {
  const crafter = await crafterAtWork(shop, 100n * TOKEN + 1n)
  const request = accelerateOf(crafter, 100n * TOKEN + 1n)
  const { fix } = await refused(crafter, 'accelerate', request, {
    status: 409,
    checks: ['balance balance_insufficient'],
  })
  assert.equal(fix, undefined)
})

test('the quote tells every reason at once, and the paid route the first of them', async () => {
  verifies('D7.3', 'D7.4', 'D7.5')
  const crafter = await newCrafter(shop)
  const other = await readyCrafter(shop)
  const nfts = [crafter.nfts[0]!, other.nfts[0]!, { contract: other.address, tokenId: '1' }]
  await administer(shop, 'pause')
  try {
    await refused(crafter, 'burn', burnOf(crafter, nfts), {
      status: 403,
      checks: [
        'collection contract_not_allowed',
        'ownership nft_not_owned',
        'approval nft_not_approved',
        'paused craft_paused',
      ],
    })
    await refused(crafter, 'accelerate', accelerateOf(crafter, 101n * TOKEN), {
      status: 409,
      checks: ['balance balance_insufficient', 'allowance allowance_insufficient', 'paused craft_paused'],
    })
  } finally {
    await administer(shop, 'unpause')
  }
})

test('F-10: what was executable when quoted is refused, unpaid, once the controller is paused', async () => {
  const crafter = await crafterAtWork(shop)
  const requests = { burn: burnOf(crafter, crafter.nfts.slice(1)), accelerate: accelerateOf(crafter) }
  for (const type of ['burn', 'accelerate'] as const)
    assert.equal((await quoteOf('mpp', type, requests[type])).executable, true)
  await administer(shop, 'pause')
  try {
    for (const type of ['burn', 'accelerate'] as const)
      await refused(crafter, type, requests[type], { status: 409, checks: ['paused craft_paused'] })
  } finally {
    await administer(shop, 'unpause')
  }
})
