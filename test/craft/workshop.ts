import { erc20Abi, type Hash, parseEventLogs, zeroAddress } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { burnableCollection } from '../../src/artifacts/BurnableCollection.ts'
import { craftController } from '../../src/artifacts/CraftController.ts'
import { craftToken } from '../../src/artifacts/CraftToken.ts'
import { type Address, sameAddress } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { invocation } from '../../src/chain/act.ts'
import { fund } from '../../src/sandbox/faucet.ts'
import { mined, type Wallet, wallet } from '../devchain/support.ts'
import { mppPayer, type Pay, post, x402Payer } from '../support/buyers.ts'
import type { TestShop } from '../support/shop.ts'
import { until } from '../support/until.ts'

export type Nft = { readonly contract: Address; readonly tokenId: string }
export type Protocol = 'x402' | 'mpp'
export const protocols: readonly Protocol[] = ['x402', 'mpp']

/** Somebody who crafts: money on both chains, craft tokens, NFTs, and a wallet that signs. */
export type Crafter = {
  readonly account: PrivateKeyAccount
  readonly address: Address
  readonly wallet: Wallet
  readonly nfts: readonly Nft[]
  readonly pay: Readonly<Record<Protocol, Pay>>
}

/** Where they craft: contracts and chains, with a shop or without. */
type Workplace = Pick<TestShop, 'world' | 'chains'>

export const TOKEN = 10n ** 18n
/** What one call costs, in atomic units of either dollar. */
export const PRICE = 1_000n

/** A fresh user with what the sandbox's faucet gives: three NFTs among it. Nothing is approved yet. */
export async function newCrafter(
  shop: Workplace,
  account = privateKeyToAccount(generatePrivateKey()),
): Promise<Crafter> {
  const { nfts } = await fund(shop.world, account.address)
  return {
    account,
    address: account.address,
    wallet: wallet(shop.chains.native, account),
    nfts,
    pay: { x402: x402Payer(account), mpp: mppPayer(shop, account, 'pull') },
  }
}

/** The same, with each NFT approved alone for the controller, and craft tokens for one acceleration. */
export async function readyCrafter(shop: Workplace, tokens = TOKEN, account?: PrivateKeyAccount): Promise<Crafter> {
  const crafter = await newCrafter(shop, account)
  await approveNfts(shop, crafter, crafter.nfts)
  await approveTokens(shop, crafter, tokens)
  return crafter
}

/** One whose timer runs already, so that there is something to accelerate. */
export async function crafterAtWork(
  shop: Workplace & Pick<TestShop, 'url'>,
  tokens?: bigint,
  account?: PrivateKeyAccount,
  protocol: Protocol = 'x402',
): Promise<Crafter> {
  const crafter = await readyCrafter(shop, tokens, account)
  const burn = burnOf(crafter, crafter.nfts.slice(0, 1))
  const response = await crafter.pay[protocol](`${shop.url}/craft/${protocol}/burn`, burn)
  if (response.status === 200) return crafter
  const answer = (await response.json()) as { readonly orderId?: string }
  if (response.status !== 202) throw new Error(`no timer could be started: ${JSON.stringify(answer)}`)
  // On a busy machine the delivery takes longer than the answer waits.
  await until(async () => {
    const { status } = (await (await fetch(`${shop.url}/payments/${answer.orderId}`)).json()) as { status: string }
    return status === 'confirmed'
  })
  return crafter
}

export function burnOf({ address }: Pick<Crafter, 'address'>, nfts: readonly Nft[]): RequestInit {
  return post({ user: address, nfts })
}

export function accelerateOf({ address }: Pick<Crafter, 'address'>, amount?: bigint): RequestInit {
  return post(amount === undefined ? { user: address } : { user: address, amount: amount.toString() })
}

export async function approveNfts({ world }: Workplace, { wallet }: Crafter, nfts: readonly Nft[]): Promise<void> {
  for (const nft of nfts) await approveNft(wallet, nft, world.contracts.craftController)
}

export async function disapproveNft({ wallet }: Crafter, nft: Nft): Promise<void> {
  await approveNft(wallet, nft, zeroAddress)
}

function approveNft(signer: Wallet, { contract, tokenId }: Nft, spender: Address): Promise<void> {
  return call(signer, contract, burnableCollection, 'approve', [spender, BigInt(tokenId)])
}

export function approveAll({ world }: Workplace, { wallet }: Crafter, collection: Address, approved: boolean) {
  return call(wallet, collection, burnableCollection, 'setApprovalForAll', [world.contracts.craftController, approved])
}

export function approveTokens({ world }: Workplace, { wallet }: Crafter, amount: bigint) {
  const { craftToken: token, craftController: spender } = world.contracts
  return call(wallet, token, craftToken, 'approve', [spender, amount])
}

export function giveAway({ wallet, address }: Crafter, { contract, tokenId }: Nft, to: Address) {
  return call(wallet, contract, burnableCollection, 'transferFrom', [address, to, BigInt(tokenId)])
}

export function giveTokens({ world }: Workplace, { wallet }: Crafter, to: Address, amount: bigint) {
  return call(wallet, world.contracts.craftToken, craftToken, 'transfer', [to, amount])
}

/** The operator of the game changes something on the controller. */
export function administer({ world }: Workplace, name: string, args: readonly unknown[] = []): Promise<Hash> {
  return world.deployer.act(invocation(world.contracts.craftController, craftController.abi, name, args))
}

export async function mintNfts(shop: Workplace, to: Address, quantity: number, collection?: Address): Promise<Nft[]> {
  const contract = collection ?? shop.world.contracts.collections[0]!
  const hash = await shop.world.deployer.act(
    invocation(contract, burnableCollection.abi, 'mint', [to, BigInt(quantity)]),
  )
  const receipt = (await shop.chains.native.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as {
    logs: { topics: Hex[] }[]
  }
  return receipt.logs.map(({ topics }) => ({ contract, tokenId: BigInt(topics[3]!).toString() }))
}

export async function timersOf({ world }: Workplace, { wallet, address }: Crafter) {
  return wallet.readContract({
    address: world.contracts.craftController,
    abi: craftController.abi,
    functionName: 'timersOf',
    args: [address],
  })
}

type Artifact = { readonly abi: readonly unknown[] }

async function call(
  signer: Wallet,
  address: Address,
  { abi }: Artifact,
  functionName: string,
  args: readonly unknown[],
): Promise<void> {
  await mined(signer, signer.writeContract({ address, abi, functionName, args } as never))
}

/** Reads the status until nothing more will happen. */
export async function finalStatus(statusUrl: string): Promise<unknown> {
  let body: unknown
  await until(async () => {
    const response = await fetch(statusUrl)
    body = await response.json()
    if (response.status !== 200 && response.status !== 202) throw new Error(`${statusUrl} answered ${response.status}`)
    return response.status === 200
  })
  return body
}

/** What the payer of an action got back, as the chain shows it. */
export async function refunded(
  { chains, config }: TestShop,
  protocol: Protocol,
  { payer, refund }: { readonly payer: string; readonly refund: { readonly transaction: string | null } | null },
): Promise<bigint> {
  const [chain, token] =
    protocol === 'x402' ? [chains.native, config.x402!.asset] : [chains.tempo, config.mpp!.currency.address]
  const params = [refund?.transaction]
  const receipt = (await chain.request({ method: 'eth_getTransactionReceipt', params })) as {
    status: Hex
    logs: { address: Address; topics: Hex[]; data: Hex }[]
  }
  const transfer = parseEventLogs({ abi: erc20Abi, eventName: 'Transfer', logs: receipt.logs as never[] })
  return transfer
    .filter(({ address, args }) => sameAddress(address, token) && sameAddress(args.to, payer))
    .reduce((total, { args }) => total + args.value, 0n)
}
