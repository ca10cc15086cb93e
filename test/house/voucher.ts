import { createHmac } from 'node:crypto'
import { encodeFunctionData, keccak256, parseTransaction, recoverTransactionAddress } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount } from 'viem/accounts'
import * as z from 'zod'
import { type Address, checksumAddress, type Hash, sameAddress } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { sha256Hex } from '../../src/base/json.ts'
import { formatUsd } from '../../src/base/money.ts'
import { Problem } from '../../src/base/problem.ts'
import { readReceipt } from '../../src/chain/receipt.ts'
import type { Rpc } from '../../src/chain/rpc.ts'
import { transfersIn } from '../../src/chain/transfers.ts'
import type { Config } from '../../src/config/config.ts'
import type { Credential, Payment, Rail, RailTraits, Terms, Verified } from '../../src/domain/rail.ts'
import type { ChainAccess } from '../../src/outbox/access.ts'
import { refundTransferOf } from '../../src/outbox/refund.ts'
import { refundByAuthorization } from '../../src/outbox/refund-authorization.ts'
import { signerOfText } from '../../src/outbox/wallet.ts'
import { createBalances } from '../../src/rails/balances.ts'
import type { RailAccount, RailKind, RailParts } from '../../src/rails/kind.ts'

// A payment protocol that nothing under src/ knows. A voucher is a transfer of dollars on a piece of paper: whoever buys hands over the
// signed transaction, and the shop sends it (authorized funds); or has sent it already, and shows its hash (captured funds). Either way a
// signature ties it to the challenge that it pays.

export const TILL: Address = checksumAddress('0x00000000000000000000000000000000000f00d5')
const SECRET = generatePrivateKey()
const LIFE_MS = 60_000

/** What a challenge says to ourselves: `base64url(json).hmac`. */
type Slip = { readonly amount: string; readonly scope: string; readonly digest: string | null; readonly nonce: string }

/** What comes back. */
const voucherSchema = z.strictObject({
  slip: z.string(),
  hash: z.string(),
  /** Left out by whoever has sent it already. */
  raw: z.string().exactOptional(),
  signature: z.string(),
})
type Voucher = z.output<typeof voucherSchema>

const traits: RailTraits = {
  name: 'voucher',
  label: 'Voucher',
  reference: 'voucher slip',
  headers: {
    credential: { name: 'Voucher', scheme: null },
    alsoSent: ['voucher-book'],
    challenge: 'Voucher-Required',
    receipt: 'Voucher-Receipt',
  },
  mcp: {
    toolMeta: { 'voucher/accepted': true },
    priceKey: null,
    capabilities: { legacy: { experimental: { voucher: {} } }, modern: { extensions: { 'example.voucher': {} } } },
    extension: null,
    contentKey: null,
    errorKey: null,
    receiptFor: (receipt) => receipt,
  },
  privileges: { hasProbes: false, servesPayer: false, listsLots: true },
}

export const voucher: RailKind = {
  ...traits,
  baseUrl: ({ baseUrl }) => baseUrl,
  accounts: (config) => [accountOf(config)],
}

function accountOf({ game, x402 }: Config): RailAccount {
  const { asset, currency, treasuryKey } = x402!
  const account = {
    rail: traits.name,
    isSelling: true,
    network: `eip155:${game.chain.chainId}`,
    asset,
    currency,
    payTo: TILL,
    realm: null,
    chain: game.chain,
    confirmations: [],
    sinceBlock: null,
    treasuryKey,
    treasurySends: true,
    otherKeys: [],
    outside: [],
    checks: [],
  }
  return { ...account, open: (chain, parts) => open(account, chain, parts) }
}

type Money = Pick<RailAccount, 'network' | 'asset' | 'currency' | 'treasuryKey'>

function open(
  { network, asset, currency, treasuryKey }: Money,
  { rpc, sender, wallet }: ChainAccess,
  parts: RailParts,
): Rail {
  const { clock, http } = parts
  const treasury = sender(treasuryKey)
  const domain = { name: 'USDC', version: '2', chainId: rpc.chainId, token: asset }
  const identityOf = (hash: string) => `voucher:${network}/transfer/${hash.toLowerCase()}`
  let issued = 0

  function credentialOf(given: unknown): Credential {
    const parsed = voucherSchema.safeParse(given)
    if (!parsed.success) throw new Problem('malformed_credential', 'This is no voucher; nothing was taken.')
    const { slip, hash, raw, signature } = parsed.data
    return {
      identities: [identityOf(hash), `voucher:${network}/challenge/${slip}`],
      proofDigest: sha256Hex(`${slip} ${hash} ${signature}`),
      amount: BigInt(slipIn(slip)?.amount ?? 0),
      funds: raw === undefined ? 'captured' : 'authorized',
      content: parsed.data,
      askedAt: 0,
      signedDigest: slipIn(slip) && sha256Hex(signature),
      challengeOfOurs: () => (slipIn(slip) ? slip : null),
      shownBy: async () => (slipIn(slip) ? 'buyer' : 'nobody'),
    }
  }

  const paymentOf = (credential: Credential, payer: Address): Payment => ({
    identities: credential.identities,
    proofDigest: credential.proofDigest,
    payer,
    amount: credential.amount,
    asset,
    network,
    payTo: TILL,
    funds: credential.funds,
    expiresAt: clock.now() + LIFE_MS,
    authorization: { ...(credential.content as Voucher) },
  })

  return {
    ...traits,
    baseUrl: http.baseUrl,
    network,
    currency,
    asset,
    payTo: TILL,
    refundAtLeast: 100_000n,
    ...createBalances({ rpc, asset, treasury: treasury.address, clock }),

    challenger:
      (resource) =>
      ({ price, body, bodyIsBound }) => {
        const digest = body && bodyIsBound ? sha256Hex(body) : null
        const slip = signed({ amount: price.toString(), scope: resource.scope, digest, nonce: String(++issued) })
        const asked = { slip, amount: price.toString(), asset, payTo: TILL }
        return {
          headers: { 'Voucher-Required': slip },
          meta: (error) => ({ 'voucher/required': { ...asked, error } }),
          members: `"voucher":${JSON.stringify(asked)}`,
          problemType: null,
        }
      },

    read(incoming) {
      const header = incoming.header('voucher')
      if (header !== undefined) return credentialOf(JSON.parse(Buffer.from(header, 'base64url').toString()))
      const meta = incoming.meta('voucher/payment')
      return meta === undefined ? null : credentialOf(meta)
    },

    quoted: () => null,

    async verify(credential, terms): Promise<Verified> {
      const { slip, hash, raw, signature } = credential.content as Voucher
      const payer = signerOfText(`${slip} ${hash}`, signature as Hex)
      const isOurs = isFor(slip, terms)
      if (raw !== undefined) {
        if (!isOurs || payer === null || !(await pays(raw as Hex, hash, { payer, asset, amount: credential.amount })))
          throw new Problem('invalid_challenge', 'This voucher is for something else; nothing was taken.')
        return { kind: 'pays', payment: paymentOf(credential, payer) }
      }
      const transaction = hash as Hash
      const paid = await arrived(rpc, transaction, asset)
      if (!paid) return { kind: 'unseen', transaction }
      if (isOurs && payer !== null && sameAddress(payer, paid.sender) && paid.amount === credential.amount)
        return { kind: 'pays', payment: paymentOf(credential, payer) }
      return { kind: 'orphaned', transaction, detail: 'That voucher buys nothing here.' }
    },

    async settle({ authorization, payer, amount }) {
      const { hash, raw } = authorization as unknown as Voucher
      const transaction = hash as Hash
      // The same bytes again change nothing: the chain knows them.
      if (raw !== undefined) await rpc.request('eth_sendRawTransaction', [raw]).catch(() => {})
      const paid = await arrived(rpc, transaction, asset)
      return paid?.amount === amount
        ? { kind: 'settled', settlement: { transaction, network, payer, settledAt: clock.now() } }
        : { kind: 'unknown', detail: 'The chain does not show it yet.', transaction }
    },

    identityOf: async ({ transaction }) => identityOf(transaction),

    isPaymentShown: async () => true,
    isOver: async () => false,
    async landed({ content }) {
      const hash = (content as Voucher).hash as Hash
      return (await arrived(rpc, hash, asset)) ? hash : null
    },
    receipt: ({ transaction }, orderId) => ({
      headers: { 'Voucher-Receipt': `${orderId} ${transaction}` },
      meta: { 'voucher/receipt': { orderId, transaction } },
    }),
    pendingReceipt: () => ({ headers: {}, meta: {} }),
    refund: (order, errand) =>
      refundByAuthorization(
        { rpc, sender: treasury, treasury: wallet(treasuryKey), domain },
        refundTransferOf(order, errand.name),
        errand,
      ),
    describe: (price) => ({
      price: price === null ? { mode: 'dynamic' } : { mode: 'fixed', amount: formatUsd(price) },
      protocols: [{ voucher: { network, asset, payTo: TILL } }],
      authMode: 'paid',
      recommendedClient: 'a pen',
    }),
    documents: {
      credential: 'A voucher for the slip of the 402, as base64url JSON.',
      challenge: z.object({ voucher: z.looseObject({ slip: z.string() }) }).meta({ id: 'VoucherRequired' }),
      own: [
        {
          path: '/.well-known/voucher',
          summary: 'What vouchers buy here',
          title: 'what vouchers buy',
          schema: z.object({ buys: z.array(z.string()) }).meta({ id: 'VoucherManifest' }),
          write: ({ sold }) => ({ buys: sold.map(({ url }) => url) }),
        },
      ],
      recipe: (_facts, { url }) => ({
        client: 'pen',
        title: 'Voucher, by hand',
        words: 'Needs a pen.',
        language: 'sh',
        code: `# write a voucher for ${url}`,
      }),
    },
  }
}

function signed(slip: Slip): string {
  const text = Buffer.from(JSON.stringify(slip)).toString('base64url')
  return `${text}.${createHmac('sha256', SECRET).update(text).digest('base64url')}`
}

/** Null: we never wrote it. */
function slipIn(text: string): Slip | null {
  const slip = JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString() || 'null') as Slip | null
  return slip && signed(slip) === text ? slip : null
}

function isFor(text: string, { price, resource, body, bodyIsBound }: Terms): boolean {
  const slip = slipIn(text)
  return (
    slip?.amount === price.toString() &&
    slip.scope === resource.scope &&
    (!bodyIsBound || slip.digest === (body && sha256Hex(body)))
  )
}

const transferAbi = [
  {
    type: 'function',
    name: 'transfer',
    stateMutability: 'nonpayable',
    inputs: [
      { name: 'to', type: 'address' },
      { name: 'amount', type: 'uint256' },
    ],
    outputs: [{ type: 'bool' }],
  },
] as const

const transferTo = (amount: bigint) =>
  encodeFunctionData({ abi: transferAbi, functionName: 'transfer', args: [TILL, amount] })

async function pays(
  raw: Hex,
  hash: string,
  { payer, asset, amount }: { readonly payer: Address; readonly asset: Address; readonly amount: bigint },
): Promise<boolean> {
  const { to, data } = parseTransaction(raw)
  const by = await recoverTransactionAddress({ serializedTransaction: raw as `0x02${string}` })
  return keccak256(raw) === hash && sameAddress(by, payer) && sameAddress(to!, asset) && data === transferTo(amount)
}

async function arrived(rpc: Rpc, hash: Hash, asset: Address) {
  const receipt = await readReceipt(rpc, hash)
  return receipt?.succeeded ? transfersIn(receipt, asset, [TILL])[0] : undefined
}

type Chain = { request(call: { method: string; params: readonly unknown[] }): Promise<unknown> }

/** The buyer's side. `amount`: what is really on the voucher. */
export async function writeVoucher(
  asked: { readonly slip: string; readonly asset: Address; readonly amount: string },
  payer: PrivateKeyAccount,
  chain: Chain & { readonly chainId: number },
  { funds, amount = BigInt(asked.amount) }: { readonly funds: 'authorized' | 'captured'; readonly amount?: bigint },
): Promise<Voucher> {
  const nonce = Number(await chain.request({ method: 'eth_getTransactionCount', params: [payer.address, 'latest'] }))
  const fees = { maxFeePerGas: 10n ** 10n, maxPriorityFeePerGas: 0n, gas: 120_000n }
  const call = { chainId: chain.chainId, nonce, to: asked.asset, data: transferTo(amount) }
  const raw = await payer.signTransaction({ type: 'eip1559', ...fees, ...call })
  const hash = keccak256(raw)
  if (funds === 'captured') await chain.request({ method: 'eth_sendRawTransaction', params: [raw] })
  const signature = await payer.signMessage({ message: `${asked.slip} ${hash}` })
  return { slip: asked.slip, hash, signature, ...(funds === 'authorized' ? { raw } : {}) }
}

export const headerOf = (given: Voucher): Record<string, string> => ({
  voucher: Buffer.from(JSON.stringify(given)).toString('base64url'),
})
