import { craftController } from '../artifacts/CraftController.ts'
import type { Address } from '../base/address.ts'
import type { Clock } from '../base/clock.ts'
import type { Hex } from '../base/hex.ts'
import { Reverted, revertedOf } from '../chain/contract.ts'
import { pollUntil, type Receipt, readReceipt } from '../chain/receipt.ts'
import { type Rpc, RpcError } from '../chain/rpc.ts'
import { type FeeSource, raised } from '../outbox/fees.ts'
import type { Wallet } from '../outbox/wallet.ts'
import { SetupFault } from './fault.ts'
import type { InFlight, SendFile } from './send-file.ts'
import type { Step } from './step.ts'

/** Everything it takes to do steps on a chain with one key. */
export type Crew = {
  readonly rpc: Rpc
  readonly fees: FeeSource
  readonly wallet: Wallet
  readonly sends: SendFile
  readonly clock: Clock
  /** How long a transaction is waited for before somebody is told to come again. */
  readonly waitMs: number
  /** Only tests hand one in that does something: it ends the run at a place of its choice. */
  reached?(point: SetupPoint): void
}

/** Where a run may die: just before or just after something that lasts. */
export type SetupPoint = 'signed' | 'journaled' | 'broadcast' | 'mined'

export type Done = { readonly step: string; readonly transaction: Hex | null }

/**
 * Does what is not done yet, one after another. It may be killed at any line and run again: the chain is asked what is done, what was signed
 * is sent again as it is, and every step that should be sent twice after all changes nothing the second time.
 */
export async function carryOut(
  crew: Crew,
  steps: readonly Step[],
  tell: (done: Done) => void = () => {},
): Promise<readonly Done[]> {
  const all: Done[] = []
  for (const step of steps) {
    const done = await doStep(crew, step)
    all.push(done)
    tell(done)
  }
  return all
}

const TRIES_MAX = 5

async function doStep(crew: Crew, step: Step): Promise<Done> {
  const { rpc, sends } = crew
  let transaction: Hex | null = null
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (await step.isDone(rpc)) {
      sends.remove(step.id)
      return { step: step.id, transaction }
    }
    const sent = sends.get(step.id)
    const receipt = sent ? await settle(crew, step, sent) : await settle(crew, step, await sign(crew, step))
    crew.reached?.('mined')
    if (receipt) transaction = receipt.transactionHash
    // The node that is asked next may lag behind the one that showed the receipt.
    if (receipt?.succeeded && (await isSeen(crew, step))) continue
    // A receipt without its effect is of an earlier time: since then somebody undid it. No receipt: another transaction has the nonce.
    sends.remove(step.id)
    if (receipt && !receipt.succeeded) await explain(crew, step, receipt)
  }
  throw new SetupFault(
    'not_done',
    `"${step.id}" was sent ${TRIES_MAX} times and is not so on the chain; look at it there`,
  )
}

async function isSeen({ rpc, clock, waitMs }: Crew, step: Step): Promise<boolean> {
  return (await pollUntil(clock, waitMs, async () => ((await step.isDone(rpc)) ? true : null))) ?? false
}

/** Written down before it leaves. */
async function sign(crew: Crew, step: Step): Promise<InFlight> {
  const { rpc, fees, wallet, sends } = crew
  const { to, data } = step.act
  const gas = await gasFor(crew, step)
  const { maxFeePerGas, maxPriorityFeePerGas } = await fees.current()
  const nonce = Number(await rpc.request<Hex>('eth_getTransactionCount', [wallet.address, 'latest']))
  const offered = { maxFeePerGas, maxPriorityFeePerGas }
  const { raw, hash } = await wallet.signCall({ to, data, gas }, nonce, offered, rpc.chainId)
  crew.reached?.('signed')
  const sent = { signer: wallet.address, nonce, versions: [{ raw, hash, fees: offered }] }
  sends.put(step.id, sent)
  crew.reached?.('journaled')
  return sent
}

/** Sends what was signed until it is mined. Null when another transaction of the key has taken the nonce. */
async function settle(crew: Crew, step: Step, first: InFlight): Promise<Receipt | null> {
  const { rpc, clock, waitMs } = crew
  let sent = first
  const early = await receiptOf(rpc, sent)
  if (early) return early
  if (await isNonceTaken(rpc, sent)) return receiptOf(rpc, sent)
  sent = await raisedIfStale(crew, step, sent)
  await broadcast(crew, step, sent)
  crew.reached?.('broadcast')
  const receipt = await pollUntil(clock, waitMs, () => receiptOf(rpc, sent))
  if (receipt) return receipt
  if (await isNonceTaken(rpc, sent)) return receiptOf(rpc, sent)
  throw new SetupFault(
    'not_mined',
    `"${step.id}" was sent as ${sent.versions.at(-1)!.hash} and is in no block yet; what comes after it was not sent. ` +
      'Run the same line again: it waits for this one, and offers more for it if need be',
  )
}

async function receiptOf(rpc: Rpc, { versions }: InFlight): Promise<Receipt | null> {
  for (const { hash } of versions) {
    const receipt = await readReceipt(rpc, hash)
    if (receipt) return receipt
  }
  return null
}

async function isNonceTaken(rpc: Rpc, { signer, nonce }: InFlight): Promise<boolean> {
  return Number(await rpc.request<Hex>('eth_getTransactionCount', [signer, 'latest'])) > nonce
}

/** Of an earlier run: what no block takes any more is signed again for more, at the same nonce. */
async function raisedIfStale(crew: Crew, step: Step, sent: InFlight): Promise<InFlight> {
  const { rpc, fees, wallet, sends } = crew
  if (sent.signer !== wallet.address)
    throw new SetupFault(
      'other_key',
      `"${step.id}" was signed by ${sent.signer} and is on its way; nothing was sent with ${wallet.address}. ` +
        'Run the line again with the key that began it',
    )
  const today = await fees.current()
  const newest = sent.versions.at(-1)!
  if (newest.fees.maxFeePerGas >= today.baseFee) return sent
  const offered = raised(newest.fees, today)
  const { to, data } = step.act
  const gas = await gasFor(crew, step)
  const { raw, hash } = await wallet.signCall({ to, data, gas }, sent.nonce, offered, rpc.chainId)
  const more = { ...sent, versions: [...sent.versions, { raw, hash, fees: offered }] }
  sends.put(step.id, more)
  return more
}

const TAKEN_ALREADY = /already known|already imported|known transaction|nonce too low|nonce is too low|old nonce/i

async function broadcast({ rpc, wallet }: Crew, step: Step, { versions }: InFlight): Promise<void> {
  try {
    await rpc.request('eth_sendRawTransaction', [versions.at(-1)!.raw])
  } catch (error) {
    if (!(error instanceof RpcError) || TAKEN_ALREADY.test(error.message)) return
    if (/insufficient funds/i.test(error.message)) throw unfundedStep(wallet.address, rpc.chainId, step.id)
    throw new SetupFault(
      'not_accepted',
      `the node does not take "${step.id}": ${error.message.slice(0, 200)}; it was signed and is kept, and nothing after it was sent. ` +
        'Run the same line again when the node is well',
      { cause: error },
    )
  }
}

function unfundedStep(address: Address, chainId: number, step: string): SetupFault {
  return new SetupFault(
    'no_gas',
    `${address} cannot pay the gas of "${step}" on chain ${chainId}; it was not sent, nor what comes after it. ` +
      'Send coin to that address, then run the same line again',
  )
}

/** What it takes, and a quarter more. A call that would revert is told before it costs anything. */
async function gasFor({ rpc, wallet }: Crew, step: Step): Promise<bigint> {
  const { to, data } = step.act
  try {
    const needed = BigInt(await rpc.request<Hex>('eth_estimateGas', [{ from: wallet.address, to, data }]))
    return needed + needed / 4n
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (/insufficient funds/i.test(error.message)) throw unfundedStep(wallet.address, rpc.chainId, step.id)
    throw refusedBy(revertedOf(error, craftController.abi), wallet.address, step)
  }
}

/** It was mined and reverted: the same call without a trace says why. When it goes through by now, it is sent again. */
async function explain(crew: Crew, step: Step, { transactionHash }: Receipt): Promise<void> {
  try {
    await gasFor(crew, step)
  } catch (error) {
    throw error instanceof SetupFault
      ? new SetupFault(error.code, `${error.message} (it was tried as ${transactionHash})`, { cause: error })
      : error
  }
}

function refusedBy(error: Error, signer: Address, step: Step): Error {
  if (!(error instanceof Reverted)) return error
  if (error.reason === 'AccessControlUnauthorizedAccount')
    return new SetupFault(
      'not_allowed',
      `${signer} has not the role on ${step.act.to} that "${step.id}" takes; nothing was sent. ` +
        'Sign with the key of the owner (--key-file), or write it for the Safe of the owner (--unsigned FILE)',
    )
  return new SetupFault(
    'reverts',
    `the contract ${step.act.to} refuses "${step.id}": ${error.reason}; it was not sent, nor what comes after it. ` +
      'See what stands there with `sutler contracts status`',
  )
}
