import { readFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { joined } from '../api/facts/guidance.ts'
import { systemClock } from '../base/clock.ts'
import type { Hex } from '../base/hex.ts'
import type { JsonObject } from '../base/json.ts'
import { formatUsd, parseUsd, type Usd } from '../base/money.ts'
import { readClientConfig } from '../config/client.ts'
import type { RailName } from '../domain/rail.ts'
import { clientOf, clients } from '../rails/clients.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type Command, type CommandCall, CommandRefusal, UsageFault } from './command.ts'
import type { Output } from './output.ts'
import { ShopSilent } from './shop-client.ts'
import { pricesOf, type WatchedPrice, type WatchedStep, watchedFetch } from './watched-fetch.ts'

const MAX = '1.00'
const NAMES = clients.map(({ name }) => name)
const LABELS = joined(
  clients.map(({ label }) => label),
  'or',
)
const POLL_MS = 1_000
const POLLS_MAX = 300

export const pay: Command = {
  args: '<url>',
  about: [
    `Calls a paid route and pays what it asks for, with the stock client of ${LABELS}: the request goes out, the 402 comes back, the`,
    'payment is signed, and the same request goes out again with it. Works with any shop, not only with this one.',
    '',
    'The key comes from --key-file or PRIVATE_KEY. A sandbox tells its demo key, so there none is needed. Should an answer be lost, the same',
    'payment is presented again, never a second one. A delivery that takes longer is waited for.',
  ].join('\n'),
  options: {
    body: { value: 'json', about: 'the request; @file reads it from a file, - from the standard input' },
    method: { value: 'GET|POST', about: 'POST with a body, GET without, unless told' },
    rail: { value: NAMES.join('|'), about: 'how to pay, where there is a choice' },
    max: { value: 'dollars', about: `the most to pay; ${MAX} unless told` },
    'key-file': { value: 'file', about: 'the private key of the payer' },
    rpc: { value: 'url', about: 'JSON-RPC of the chain that the payment is made on, where the client asks it' },
  },
  examples: [
    [`sutler pay http://localhost:4020/${NAMES[0]}/cheap-health`, 'a tenth of a cent, to see that it works'],
    [
      `sutler pay http://localhost:4020/shop/${NAMES[1]}/buy --body '{"itemId":"keys:5","nickname":"Demo"}' --max 2`,
      'five keys for a player',
    ],
  ],
  async run(call) {
    const url = urlOf(call.args[0] ?? '')
    const init = await requestOf(call)
    const max = maxOf(call.option('max'))
    const first = await send(url, init)
    if (first.status !== 402) return outputOf(first, [])
    const price = choose(pricesOf(first), call.option('rail'))
    const sandbox = await askSandbox(url)
    const account = accountOf(call, sandbox)
    const steps: WatchedStep[] = []
    const watch = (step: WatchedStep) => {
      if (step.kind === 'challenge') refuseDear(step.price, max)
      steps.push(step)
      call.terminal.note(`${call.terminal.style.dim(step.kind.padEnd(11))}${describe(step, account)}`)
    }
    const rpcUrl = call.option('rpc') ?? sandbox?.chains[price.rail]?.rpcUrl
    const paying = await clientOf(price.rail).pay({ account, rpcUrl, max }, watchedFetch(watch, systemClock))
    const response = await paying(url, init).catch((error) => {
      throw unpaidOrUnanswered(error, url, steps)
    })
    return outputOf(response.status === 202 ? await delivered(call, response) : response, steps)
  },
}

function urlOf(given: string): URL {
  if (!URL.canParse(given) || !/^https?:/.test(given))
    throw new UsageFault(`${given} is not an address; it begins with http:// or https://`, 'pay')
  return new URL(given)
}

async function requestOf(call: CommandCall): Promise<RequestInit> {
  const given = call.option('body')
  const body =
    given === '-' ? await text(process.stdin) : given?.startsWith('@') ? readFileSync(given.slice(1), 'utf8') : given
  if (body !== undefined && !isJson(body)) throw new UsageFault('--body is not JSON', 'pay')
  const method = call.option('method')?.toUpperCase() ?? (body === undefined ? 'GET' : 'POST')
  return { method, headers: { 'content-type': 'application/json' }, ...(body === undefined ? {} : { body }) }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function maxOf(given = MAX): Usd {
  try {
    return parseUsd(given)
  } catch {
    throw new UsageFault(`${given} is not an amount of dollars, such as 2.50`, 'pay')
  }
}

async function send(url: URL, init: RequestInit): Promise<Response> {
  return boundedFetch(url, init).catch((error) => {
    throw new ShopSilent(url.origin, error)
  })
}

function choose(prices: readonly WatchedPrice[], wanted: string | undefined): WatchedPrice {
  const price = wanted === undefined ? prices[0] : prices.find(({ rail }) => rail === wanted)
  if (price) return price
  const offered = prices.map(({ rail }) => rail).join(' and ')
  throw new CommandRefusal(
    'rail_not_offered',
    `it cannot be paid by ${wanted ?? LABELS}${offered && `; only by ${offered}`}`,
  )
}

function refuseDear({ amount, currency }: WatchedPrice, max: Usd): void {
  if (amount <= max) return
  const price = formatUsd(amount)
  throw new CommandRefusal(
    'too_expensive',
    `it costs ${price} ${currency}, more than ${formatUsd(max)}; nothing was paid. Say --max ${price} to buy it`,
  )
}

/** Whether money may have moved is the first thing to say when the client gives up. */
function unpaidOrUnanswered(error: unknown, { origin }: URL, steps: readonly WatchedStep[]): unknown {
  if (error instanceof CommandRefusal) return error
  const { shortMessage, message } = error as Error & { readonly shortMessage?: string }
  const why = (shortMessage ?? message).split('\n')[0]!.replace(/\.$/, '')
  const payment = steps.find((step) => step.kind === 'payment')
  if (!payment)
    return new CommandRefusal('not_paid', `the payment could not be made, and nothing was paid: ${why}`, {
      cause: error,
    })
  return new CommandRefusal(
    'no_answer',
    `no answer came, and the payment may have been taken: ${why}. Do not pay again before ${origin}/payments/${payment.reference} has told`,
    { cause: error },
  )
}

type Sandbox = {
  readonly demo: { readonly privateKey: Hex }
  readonly chains: Readonly<Record<RailName, { readonly rpcUrl: string }>>
}

/** A sandbox tells everything; anything else does not know the question. */
async function askSandbox({ origin }: URL): Promise<Sandbox | null> {
  const response = await boundedFetch(`${origin}/sandbox`)
  const answer = (await response.json().catch(() => null)) as ({ mode?: unknown } & Sandbox) | null
  return response.ok && answer?.mode === 'sandbox' ? answer : null
}

function accountOf(call: CommandCall, sandbox: Sandbox | null): PrivateKeyAccount {
  const file = call.option('key-file')
  const key = file === undefined ? readClientConfig(call.env).privateKey?.reveal() : readFileSync(file, 'utf8').trim()
  const chosen = key ?? sandbox?.demo.privateKey
  if (chosen === undefined)
    throw new CommandRefusal('no_key', 'no key to pay with; set PRIVATE_KEY, or name a file with --key-file')
  if (!/^0x[0-9a-fA-F]{64}$/.test(chosen))
    throw new CommandRefusal('invalid_key', 'the key is not a private key: 0x and 64 hexadecimal digits')
  return privateKeyToAccount(chosen as Hex)
}

function describe(step: WatchedStep, { address }: PrivateKeyAccount): string {
  switch (step.kind) {
    case 'challenge':
      return `${formatUsd(step.price.amount)} ${step.price.currency} on ${step.price.network} to ${step.price.payTo}`
    case 'payment':
      return `signed by ${address}; the same request goes out again with it`
    case 'resend':
      return 'no answer; the same payment is presented again'
    case 'settlement':
      return step.transaction
  }
}

/** Paid, and the goods are on their way: asks until nothing more will happen. */
async function delivered(call: CommandCall, accepted: Response): Promise<Response> {
  const { statusUrl } = (await accepted.clone().json()) as { statusUrl?: string }
  if (statusUrl === undefined) return accepted
  call.terminal.note(call.terminal.style.dim(`delivery takes longer; asking ${statusUrl}`))
  for (let asked = 1; asked < POLLS_MAX; asked++) {
    await systemClock.sleep(POLL_MS)
    const status = await boundedFetch(statusUrl)
    if (status.status !== 202) return status
  }
  return accepted
}

async function outputOf(response: Response, steps: readonly WatchedStep[]): Promise<Output> {
  const content = await response.text()
  const body = isJson(content) ? (JSON.parse(content) as JsonObject) : content
  const challenge = steps.find((step) => step.kind === 'challenge')
  const settlement = steps.find((step) => step.kind === 'settlement')
  const paid: { rail: RailName; amount: string; currency: string; transaction: string | null } | null =
    challenge && steps.some(({ kind }) => kind === 'payment')
      ? {
          rail: challenge.price.rail,
          amount: formatUsd(challenge.price.amount),
          currency: challenge.price.currency,
          transaction: settlement?.transaction ?? null,
        }
      : null
  return {
    json: { status: response.status, paid, body },
    text: typeof body === 'string' ? body : (refusalText(response, body) ?? JSON.stringify(body, null, 2)),
    isGood: response.ok && !isUndone(body),
  }
}

const taken: Readonly<Record<string, string>> = {
  false: 'nothing was taken',
  true: 'the money was taken',
  unknown: 'nobody knows yet whether the money was taken',
}

/** A refusal in a line or two; a 402 alone has a hundred lines, which are for programs. */
function refusalText({ ok, status }: Response, body: JsonObject): string | null {
  const { code, detail, payment, refund, retry } = body as {
    readonly code?: string
    readonly detail?: string
    readonly payment?: { readonly taken: boolean | 'unknown' }
    readonly refund?: { readonly status: string; readonly transaction: string | null } | null
    readonly retry?: { readonly statusUrl: string | null } | null
  }
  if (ok || code === undefined || detail === undefined) return null
  return [
    `${status} ${code}: ${detail}`,
    ...(payment ? [`payment: ${taken[String(payment.taken)]}`] : []),
    ...(refund ? [`refund: ${refund.status}${refund.transaction ? ` by ${refund.transaction}` : ''}`] : []),
    ...(retry?.statusUrl ? [`status: ${retry.statusUrl}`] : []),
  ].join('\n')
}

/** Answered, and yet there are no goods. */
function isUndone(body: JsonObject | string): boolean {
  return typeof body === 'object' && ['failed', 'refunding', 'refunded', 'expired'].includes(String(body['status']))
}
