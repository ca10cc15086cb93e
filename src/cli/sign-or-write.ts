import type { Chain } from 'viem'
import type { Address } from '../base/address.ts'
import { systemClock } from '../base/clock.ts'
import type { Hex } from '../base/hex.ts'
import { readSecretFile } from '../config/options.ts'
import { writeSafeBatch } from '../setup/safe-batch.ts'
import { type CommandCall, CommandRefusal, type Option, UsageFault } from './command.ts'
import { shopUrl } from './shop-client.ts'

/** A call that somebody with the right key has to send. */
type Unsigned = { readonly chainId: number; readonly to: Address; readonly data: Hex; readonly what: string }

type Brought =
  | { readonly kind: 'sent'; readonly transaction: Hex }
  | { readonly kind: 'written'; readonly file: string }

/** How the transaction of a command comes to the chain. */
export const signingOptions: Readonly<Record<string, Option>> = {
  'key-file': { value: 'file', about: 'the key that signs, in a file of its own' },
  unsigned: { value: 'file', about: 'sign nothing: write it there, for the Transaction Builder of a Safe' },
  rpc: { value: 'url', about: "the chain; else the first of SUTLER_GAME_RPC_URL, else the sandbox's own" },
}

/** Asked before anything else is: a transaction that nobody will sign need not be prepared. */
export function assertSigning(call: CommandCall, command: string): void {
  const ways = ['key-file', 'unsigned'].filter((way) => call.option(way) !== undefined)
  if (ways.length === 1) return
  const [say, works] =
    ways.length === 0 ? ['say who signs', '--unsigned lot.json'] : ['choose one', '--unsigned lot.json']
  throw new UsageFault(
    `${say}: --key-file FILE, or --unsigned FILE for a Safe; nothing was sent. For example ${works}`,
    command,
  )
}

export async function signOrWrite(call: CommandCall, unsigned: Unsigned): Promise<Brought> {
  const file = call.option('unsigned')
  if (file === undefined) return { kind: 'sent', transaction: await send(call, unsigned) }
  const { chainId, what, to, data } = unsigned
  writeSafeBatch(file, { chainId, name: what, description: what, createdAt: systemClock.now(), calls: [{ to, data }] })
  return { kind: 'written', file }
}

/** Safe to run again: what it sends makes the chain so, and changes nothing where it is so already. */
async function send(call: CommandCall, { chainId, to, data, what }: Unsigned): Promise<Hex> {
  const [{ createPublicClient, createWalletClient, http }, { privateKeyToAccount }] = await Promise.all([
    import('viem'),
    import('viem/accounts'),
  ])
  const account = privateKeyToAccount(readKey(call.option('key-file')!))
  const url = rpcUrl(call, chainId)
  const coin = { name: 'coin', symbol: 'COIN', decimals: 18 }
  const chain: Chain = {
    id: chainId,
    name: `chain ${chainId}`,
    nativeCurrency: coin,
    rpcUrls: { default: { http: [url] } },
  }
  const reader = createPublicClient({ chain, transport: http(url) })
  const answered = await reader.getChainId()
  if (answered !== chainId)
    throw new CommandRefusal(
      'other_chain',
      `chain ${answered} answers at ${url}, and not ${chainId}; nothing was sent. Give --rpc`,
    )
  const hash = await createWalletClient({ account, chain, transport: http(url) })
    .sendTransaction({ to, data })
    .catch((error: { shortMessage?: string; details?: string }) => {
      const why = error.details ?? error.shortMessage ?? String(error)
      throw new CommandRefusal(
        'not_sent',
        `the chain does not take "${what}" from ${account.address}: ${why.slice(0, 200)}. Nothing was sent. Has this key the role of the lot manager, and gas? Or write it for its owner: --unsigned lot.json`,
      )
    })
  const { status } = await reader.waitForTransactionReceipt({ hash })
  if (status === 'success') return hash
  throw new CommandRefusal(
    'reverted',
    `${hash} was mined and reverted: "${what}" is not so; look at the roles of ${account.address}`,
  )
}

/** Of the sandbox's keys too, which everybody knows: there they manage the lots. */
function readKey(file: string): Hex {
  const { text, trouble } = readSecretFile(file)
  if (trouble !== null) throw new CommandRefusal('key', `--key-file names a file ${trouble}; nothing was sent`)
  if (/^0x[0-9a-fA-F]{64}$/.test(text)) return text as Hex
  throw new CommandRefusal('key', `${file} does not hold a private key (0x and 64 digits); nothing was sent`)
}

function rpcUrl(call: CommandCall, chainId: number): string {
  const configured = call.env['SUTLER_GAME_RPC_URL']?.split(',')[0]?.trim()
  return call.option('rpc') ?? (configured || `${shopUrl(call)}/sandbox/rpc/${chainId}`)
}
