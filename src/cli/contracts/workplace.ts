import { resolve } from 'node:path'
import { type Address, checksumAddress, hasWrongChecksum, isAddress } from '../../base/address.ts'
import { systemClock } from '../../base/clock.ts'
import { claimFile } from '../../base/data-folder.ts'
import { createHeadSource } from '../../chain/head.ts'
import { createRpc, type Rpc } from '../../chain/rpc.ts'
import { httpTransport } from '../../chain/transport.ts'
import { type ContractsConfig, readContractsConfig, readDeployerKey } from '../../config/contracts.ts'
import { defaultLimits } from '../../config/limits.ts'
import { createFeeSource } from '../../outbox/fees.ts'
import { createWallet } from '../../outbox/wallet.ts'
import { SetupFault } from '../../setup/fault.ts'
import { writeSafeBatch } from '../../setup/safe-batch.ts'
import { openSendFile } from '../../setup/send-file.ts'
import type { Step } from '../../setup/step.ts'
import { type Crew, carryOut, type Done } from '../../setup/step-runner.ts'
import { type CommandCall, type Option, UsageFault } from '../command.ts'

/** How the transactions of a command come to the chain. */
export const contractSigningOptions: Readonly<Record<string, Option>> = {
  'key-file': {
    value: 'file',
    about: 'the key that signs, in a file of its own; else DEPLOYER_KEY_FILE or DEPLOYER_KEY',
  },
  unsigned: {
    value: 'file',
    about: 'sign nothing: write the transactions there, for the Transaction Builder of a Safe',
  },
}

export type Workplace = {
  readonly config: ContractsConfig
  readonly rpc: Rpc
}

/** The chain of the contracts, from the configuration. What answers there must be that chain. */
export async function openWorkplace({ env }: CommandCall): Promise<Workplace> {
  const config = readContractsConfig(env)
  const { chainId, rpcUrls } = config.chain
  const transports = rpcUrls.map((url) => httpTransport(url, defaultLimits.rpcTimeoutMs))
  const rpc = createRpc({ chainId, transports, clock: systemClock })
  const answered = Number(await rpc.request<string>('eth_chainId'))
  if (answered !== chainId)
    throw new SetupFault(
      'other_chain',
      `chain ${answered} answers at SUTLER_GAME_RPC_URL, and SUTLER_GAME_CHAIN_ID is ${chainId}; nothing was sent. Set both to the same chain`,
    )
  return { config, rpc }
}

const WAIT_MS = 90_000

/**
 * With the key that signs, or with null where --unsigned says that nobody does so here. Of several commands in one folder one sends at a
 * time: two would sign different transactions for the same nonce, and each would take the other's journal for its own.
 */
export async function withCrew<Result>(
  call: CommandCall,
  workplace: Workplace,
  work: (crew: Crew | null) => Promise<Result>,
): Promise<Result> {
  if (call.option('unsigned') !== undefined) return work(null)
  const { chainId } = workplace.config.chain
  const claim = claimFile(resolve(`contracts.${chainId}.lock`))
  if (claim === null)
    throw new SetupFault(
      'in_use',
      `another command is sending transactions on chain ${chainId} from this folder; nothing was sent. Wait until it has ended, then run the same line again`,
    )
  try {
    return await work(openCrew(call, workplace))
  } finally {
    claim.release()
  }
}

function openCrew(call: CommandCall, { config, rpc }: Workplace): Crew {
  const key = readDeployerKey(call.env, call.option('key-file'))
  if (key === null)
    throw new SetupFault(
      'no_key',
      'there is no key to sign with; nothing was sent. Make one with `sutler keys make deployer` and add --key-file keys/deployer.key, ' +
        'or add --unsigned FILE to write the transactions for a Safe',
    )
  const { chain } = config
  const head = createHeadSource({ rpc, clock: systemClock })
  return {
    rpc,
    fees: createFeeSource({ head, tipWei: chain.tipWei }),
    wallet: createWallet(key),
    sends: openSendFile(resolve(`contracts.${chain.chainId}.sends.json`)),
    clock: systemClock,
    waitMs: WAIT_MS,
  }
}

export type ContractsOutcome =
  | { readonly kind: 'sent'; readonly done: readonly Done[] }
  | { readonly kind: 'unsigned'; readonly file: string; readonly steps: readonly Step[] }

/** Sends what is not done yet, or writes it down for somebody else to sign. */
export async function bringAbout(
  call: CommandCall,
  { rpc }: Workplace,
  { crew, steps, title }: { readonly crew: Crew | null; readonly steps: readonly Step[]; readonly title: string },
): Promise<ContractsOutcome> {
  const { note, style } = call.terminal
  if (crew) {
    const tell = ({ step, transaction }: Done) => note(style.dim(`${step}: ${transaction ?? 'is so already'}`))
    return { kind: 'sent', done: await carryOut(crew, steps, tell) }
  }
  const open: Step[] = []
  for (const step of steps) if (!(await step.isDone(rpc).catch(() => false))) open.push(step)
  const file = call.option('unsigned')!
  const description = open.map(({ id }) => id).join('; ')
  const calls = open.map(({ act: { to, data } }) => ({ to, data }))
  const { chainId } = rpc
  if (calls.length > 0) writeSafeBatch(file, { chainId, name: title, description, createdAt: systemClock.now(), calls })
  return { kind: 'unsigned', file, steps: open }
}

export function outcomeText(outcome: ContractsOutcome): string {
  if (outcome.kind === 'sent') {
    const sent = outcome.done.filter(({ transaction }) => transaction !== null).length
    return sent === 0 ? 'everything was so already; nothing was sent' : `${sent} transactions were sent, and are mined`
  }
  if (outcome.steps.length === 0) return 'everything is so already; no file was written'
  return `${outcome.steps.length} unsigned transactions are in ${outcome.file}: import it in the Transaction Builder of the owner's Safe, as one batch`
}

export function outcomeJson(outcome: ContractsOutcome) {
  return outcome.kind === 'sent'
    ? { sent: outcome.done.map(({ step, transaction }) => ({ step, transaction })) }
    : { unsigned: outcome.steps.length === 0 ? null : outcome.file, steps: outcome.steps.map(({ id }) => id) }
}

/** An address that somebody typed. */
export function readAddressOption(text: string, what: string, command: string): Address {
  if (!isAddress(text))
    throw new UsageFault(`${what} ${text} is not an address (0x and 40 digits); nothing was done`, command)
  if (hasWrongChecksum(text))
    throw new UsageFault(`${what} ${text} has a wrong checksum: a digit is mistyped; nothing was done`, command)
  return checksumAddress(text)
}
