import { createPublicClient, createWalletClient, erc721Abi, http } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { baseSepolia } from 'viem/chains'
import { type Address, sameAddress } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Hex } from '../base/hex.ts'
import { stringify } from '../base/json.ts'
import { type Jwks, readJwks } from '../base/jws.ts'
import { formatUsd, parseUsd } from '../base/money.ts'
import { verifyReceipt } from '../checkout/receipt.ts'
import type { RailName } from '../domain/rail.ts'
import { clientOf, clients } from '../rails/clients.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { CommandRefusal } from './command.ts'
import { type WatchedStep, watchedFetch } from './watched-fetch.ts'

/** What the sandbox gives an agent that has nothing: play money, and a player. */
export type DemoSandbox = {
  readonly chains: Readonly<Record<RailName | 'game', { readonly chainId: number; readonly rpcUrl: string }>>
}

/** Something the contract says can be bought. */
export type Operation = {
  readonly method: string
  readonly path: string
  readonly url: string
  readonly surface: string
  readonly summary: string
}

/** A purchase that was made and checked. */
export type Bought = {
  readonly operation: Operation
  readonly rail: RailName
  readonly paid: string
  readonly paymentTx: string
  readonly deliveryTx: string | null
}

export type Say = (what: string, words: string) => void

type Contract = {
  readonly servers: readonly { readonly url: string }[]
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly 'x-payment-info'?: object
            readonly tags?: readonly string[]
            readonly summary?: string
            readonly servers?: readonly { readonly url: string }[]
          }
        >
      >
    >
  >
}

/** Everything that can be bought here, from the contract that the base URL publishes. */
export async function discover(url: string): Promise<readonly Operation[]> {
  const contract = await read<Contract>(`${url}/openapi.json`)
  return Object.entries(contract.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, operation]) => operation['x-payment-info'] !== undefined)
      .map(([method, { tags = [], summary = '', servers = contract.servers }]) => ({
        method: method.toUpperCase(),
        path,
        url: `${servers[0]?.url ?? url}${path}`,
        surface: tags[0] ?? '',
        summary,
      })),
  )
}

type AgentOptions = {
  readonly url: string
  readonly account: PrivateKeyAccount
  readonly sandbox: DemoSandbox
  readonly clock: Clock
}

/** An agent with a wallet of its own. It knows the protocols and what it is told by the shop; nothing else. */
export function createAgent({ url, account, sandbox, clock }: AgentOptions) {
  const { rpcUrl: gameUrl } = chainOf(sandbox, 'game')
  const publicClient = gameChain(gameUrl)
  const wallet = createWalletClient({ account, chain: baseSepolia, transport: http(gameUrl) })
  let keys: Jwks | null = null

  async function buy(operation: Operation, body: object | null, say: Say): Promise<Bought> {
    const steps: WatchedStep[] = []
    const watched = watchedFetch((step) => {
      steps.push(step)
      tell(step, account.address, say)
    }, clock)
    const rail = railOf(await boundedFetch(operation.url, unpaid(operation.method)))
    const client = clientOf(rail)
    const { rpcUrl } = chainOf(sandbox, rail)
    const pay = await client.pay({ account, rpcUrl, max: parseUsd('1000.00') }, watched)
    const response = await pay(operation.url, {
      method: operation.method,
      ...(body === null ? {} : { body: stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const answer = (await response.json()) as Answer
    if (response.status !== 200)
      throw new CommandRefusal('not_bought', `${operation.path} answered ${stringify(answer)}`)
    const challenge = steps.find((step) => step.kind === 'challenge')
    const settlement = steps.find((step) => step.kind === 'settlement')
    if (!challenge || !settlement)
      throw new CommandRefusal('not_settled', `${operation.path} sold without a settlement`)
    await assertLanded(rpcUrl, settlement.transaction)
    if (answer.saleTx) await assertOwned(publicClient, account.address, answer.nfts ?? [])
    say('delivery', describe(answer))
    if (answer.receipt) {
      verifyReceipt(answer.receipt, await publishedKeys())
      say('receipt', 'signed by the shop; verified with its published key')
    } else say('receipt', `in the header ${client.receiptHeader}`)
    const { price } = challenge
    return {
      operation,
      rail,
      paid: `${formatUsd(price.amount)} ${price.currency}`,
      paymentTx: settlement.transaction,
      deliveryTx: answer.saleTx ?? answer.actionTx ?? null,
    }
  }

  async function publishedKeys(): Promise<Jwks> {
    keys ??= readJwks(stringify(await read(`${url}/.well-known/jwks.json`)))
    return keys
  }

  /** Asks the free quote, and signs whatever transactions it names until nothing speaks against the request. */
  async function makeReady(quoteUrl: string, body: object, say: Say): Promise<void> {
    const { checks } = await post<Quote>(quoteUrl, body)
    for (const { ok, fix, detail } of checks) {
      if (ok) continue
      if (!fix) throw new CommandRefusal('not_ready', `the quote says: ${detail}`)
      const hash = await wallet.sendTransaction({ to: fix.to, data: fix.data })
      await publicClient.waitForTransactionReceipt({ hash, pollingInterval: 50 })
      say('quote', `${fix.description}: ${hash}`)
    }
    const { executable } = await post<Quote>(quoteUrl, body)
    if (!executable)
      throw new CommandRefusal('not_ready', `${quoteUrl} still says that the request cannot be carried out`)
  }

  return { buy, makeReady }
}

export type Agent = ReturnType<typeof createAgent>

function chainOf({ chains }: DemoSandbox, name: string) {
  const chain = chains[name]
  if (!chain) throw new CommandRefusal('no_chain', `the sandbox does not tell of the chain of ${name}`)
  return chain
}

/** The chain is asked, not the shop. */
async function assertLanded(rpcUrl: string, transaction: string): Promise<void> {
  const receipt = await rpc<{ status: Hex } | null>(rpcUrl, 'eth_getTransactionReceipt', [transaction])
  if (receipt?.status !== '0x1') throw new CommandRefusal('not_landed', `${transaction} is not on the chain`)
}

function gameChain(rpcUrl: string) {
  return createPublicClient({ chain: baseSepolia, transport: http(rpcUrl) })
}

async function assertOwned(client: ReturnType<typeof gameChain>, buyer: Address, nfts: readonly Nft[]): Promise<void> {
  const owners = await Promise.all(
    nfts.map(({ contract, tokenId }) =>
      client.readContract({ address: contract, abi: erc721Abi, functionName: 'ownerOf', args: [BigInt(tokenId)] }),
    ),
  )
  if (owners.length === 0 || !owners.every((owner) => sameAddress(owner, buyer)))
    throw new CommandRefusal('not_delivered', 'the shop says that it minted, and the chain shows another owner')
}

type Nft = { readonly contract: Address; readonly tokenId: string }

type Answer = {
  readonly receipt?: string
  readonly nfts?: readonly Nft[]
  readonly saleTx?: string | null
  readonly actionTx?: string | null
  readonly itemId?: string
  readonly recipient?: { readonly value: string }
  readonly player?: { readonly nickname: string }
  readonly reportId?: string
  readonly type?: string
  readonly timers?: readonly { readonly readyAt: string }[]
  readonly latencyMs?: number
}

type Quote = {
  readonly executable: boolean
  readonly checks: readonly {
    readonly ok: boolean
    readonly detail: string | null
    readonly fix: { readonly to: Address; readonly data: Hex; readonly description: string } | null
  }[]
}

function tell(step: WatchedStep, payer: Address, say: Say): void {
  say(step.kind === 'resend' ? 'payment' : step.kind, wordsOf(step, payer))
}

function wordsOf(step: WatchedStep, payer: Address): string {
  switch (step.kind) {
    case 'challenge':
      return `402: ${formatUsd(step.price.amount)} ${step.price.currency} on ${step.price.network}`
    case 'payment':
      return `signed by ${payer}; the same request again`
    case 'resend':
      return 'no answer; the same payment again'
    case 'settlement':
      return step.transaction
  }
}

function describe(answer: Answer): string {
  const { nfts, itemId, recipient, player, reportId, type, timers, latencyMs } = answer
  const tokens = nfts?.map(({ tokenId }) => `#${tokenId}`).join(', ')
  if (type === 'burn') return `NFT ${tokens} burnt, timer runs until ${timers?.[0]?.readyAt}`
  if (type === 'accelerate') return `timer now ends ${timers?.[0]?.readyAt ?? 'at once'}`
  if (nfts) return `in the wallet, as the chain shows: NFT ${tokens}`
  if (itemId) return `${itemId} is with ${recipient?.value}`
  if (player) return `the payer is player ${player.nickname}`
  return reportId ? `recorded as ${reportId}` : `settled in ${latencyMs} ms`
}

function railOf(response: Response): RailName {
  const { status } = response
  const client = clients.find(({ priceIn }) => status === 402 && priceIn(response) !== null)
  if (client) return client.name
  throw new CommandRefusal('no_challenge', `a paid route answered ${status} to a request without payment`)
}

/** An empty request is a question for the price. */
function unpaid(method: string): RequestInit {
  return method === 'GET' ? {} : { method, body: '{}', headers: { 'content-type': 'application/json' } }
}

export async function read<Answer>(url: string): Promise<Answer> {
  const response = await boundedFetch(url)
  if (!response.ok) throw new CommandRefusal('missing_document', `${url} answers ${response.status}`)
  return (await response.json()) as Answer
}

export async function post<Answer>(url: string, body: object): Promise<Answer> {
  const response = await boundedFetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: stringify(body),
  })
  if (!response.ok) throw new CommandRefusal('refused', `${url} answers ${response.status}: ${await response.text()}`)
  return (await response.json()) as Answer
}

async function rpc<Result>(url: string, method: string, params: readonly unknown[]): Promise<Result> {
  return (await post<{ result: Result }>(url, { jsonrpc: '2.0', id: 1, method, params })).result
}
