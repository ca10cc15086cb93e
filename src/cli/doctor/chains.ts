import { craftController } from '../../artifacts/CraftController.ts'
import { type Address, sameAddress } from '../../base/address.ts'
import { systemClock } from '../../base/clock.ts'
import type { Hex } from '../../base/hex.ts'
import { silentLog } from '../../base/log.ts'
import { formatUsd, usd } from '../../base/money.ts'
import { noWaypoint } from '../../base/waypoint.ts'
import { noChainMeter } from '../../chain/chain-meter.ts'
import { readCode } from '../../chain/code.ts'
import { contractAt } from '../../chain/contract.ts'
import type { Rpc } from '../../chain/rpc.ts'
import type { ChainConfig, Config } from '../../config/config.ts'
import type { Journal } from '../../domain/journal.ts'
import type { ChainAccess } from '../../outbox/access.ts'
import { addressOf } from '../../outbox/wallet.ts'
import { accountsOf, type RailAccount, sellingAccounts } from '../../rails/kind.ts'
import { rails } from '../../rails/rails.ts'
import { createChains } from '../../service/chains.ts'
import { chainKeys, createSigners, type RoleSigner } from '../../service/signers.ts'
import { surfaces } from '../../service/surfaces.ts'
import { readWallets } from '../../service/wallets.ts'
import { hasRole } from '../../setup/contract-roles.ts'
import { type Diagnosis, FoundTrouble, look } from './finding.ts'

const HEAD_AGE_MS_MAX = 60_000

/** Each chain, what stands on it, and whether our keys may do there what they are for. Reads only. */
export async function checkChains(config: Config): Promise<readonly Diagnosis[]> {
  const { game } = config
  const accounts = sellingAccounts(rails, config)
  const { chainOf } = createChains({
    limits: config.limits,
    journal: sendsNothing,
    clock: systemClock,
    log: silentLog,
    waypoint: noWaypoint,
    meter: noChainMeter,
    transports: new Map(),
  })
  const configs = [...accounts.map(({ chain }) => chain), game.chain]
  const distinct = [...new Map(configs.map((chain) => [chain.chainId, chain])).values()]
  const heads = await Promise.all(distinct.map((chain) => checkHead(chainOf(chain).rpc, config.mode)))
  const isSilent = (chain: ChainConfig) =>
    heads[distinct.findIndex(({ chainId }) => chainId === chain.chainId)]?.severity === 'fail'
  // What stands on a chain that does not answer is not worth a second complaint.
  const rest = await Promise.all([
    ...accounts
      .filter(({ chain }) => !isSilent(chain))
      .flatMap(({ chain, checks }) =>
        checks.map((check) => look({ ...check, area: 'chains' }, () => check.look(chainOf(chain).rpc))),
      ),
    ...(isSilent(game.chain) ? [] : checkContracts(chainOf(game.chain).rpc, game)),
  ])
  const wallets = configs.some(isSilent) ? [] : await checkWallets(config, accounts, chainOf)
  const signers = await checkSigners(createSigners(allKeys(config), chainOf))
  return [...heads, ...rest, ...checkRecipients(accounts, game), ...signers, ...wallets]
}

const allKeys = (config: Config) => chainKeys(accountsOf(rails, config), surfaces, config)

/** The doctor has no use for a journal: it never sends. */
const sendsNothing: Journal = {
  at: refuseToSend,
  ofOrder: refuseToSend,
  keysInRole: refuseToSend,
  taken: refuseToSend,
  record: refuseToSend,
  addVersion: refuseToSend,
  fail: refuseToSend,
  land: refuseToSend,
  between: refuseToSend,
}

function refuseToSend(): never {
  throw new TypeError('the doctor only looks')
}

function checkHead(rpc: Rpc, mode: Config['mode']): Promise<Diagnosis> {
  const fix = `Check the RPC address of chain ${rpc.chainId}, or add a second one after a comma.`
  return look({ area: 'chains', what: `chain ${rpc.chainId}`, fix }, async () => {
    const chainId = Number(await rpc.request<Hex>('eth_chainId'))
    if (chainId !== rpc.chainId)
      throw new FoundTrouble('fail', `The RPC address leads to chain ${chainId} instead.`, fix)
    const { number, timestamp } = await rpc.request<{ number: Hex; timestamp: Hex }>('eth_getBlockByNumber', [
      'latest',
      false,
    ])
    const ageMs = systemClock.now() - Number(timestamp) * 1000
    // A dev chain makes a block when somebody sends something.
    if (mode === 'production' && ageMs > HEAD_AGE_MS_MAX)
      throw new FoundTrouble('warn', `Its newest block is ${Math.round(ageMs / 1000)} s old: the node is behind.`, fix)
    await rpc.newest()
    const silent = rpc.standing().filter(({ isUp }) => !isUp).length
    if (silent > 0)
      throw new FoundTrouble(
        'warn',
        `${silent} of its RPC addresses do not answer for it; large payments wait for two.`,
        fix,
      )
    return `answers, at block ${Number(number)}`
  })
}

function checkContracts(rpc: Rpc, { sale, craft }: Config['game']): readonly Promise<Diagnosis>[] {
  return [
    ...(sale ? [checkRole(rpc, sale.contract, 'MINTER_ROLE', addressOf(sale.minterKey))] : []),
    ...(craft ? [checkRole(rpc, craft.controller, 'OPERATOR_ROLE', addressOf(craft.crafterKey))] : []),
    ...(sale ? [checkPause(rpc, sale.contract, 'sale')] : []),
    ...(craft ? [checkPause(rpc, craft.controller, 'craft controller')] : []),
  ]
}

function checkRole(rpc: Rpc, contract: Address, role: string, holder: Address): Promise<Diagnosis> {
  const name = role === 'MINTER_ROLE' ? 'minter' : 'crafter'
  const fix = `Give the key its role: \`sutler contracts grant ${name} ${holder} --key-file <owner's key>\`, or --unsigned for its Safe.`
  return look({ area: 'keys', what: role, fix }, async () => {
    if ((await readCode(rpc, contract)) === '0x')
      throw new FoundTrouble(
        'fail',
        `Nothing stands at ${contract}.`,
        'Make the contracts with `sutler contracts deploy`, or correct the address.',
      )
    if (!(await hasRole(rpc, contract, role, holder)))
      throw new FoundTrouble('fail', `${holder} may not act on ${contract}.`, fix)
    return `${holder} has it on ${contract}`
  })
}

function checkPause(rpc: Rpc, contract: Address, name: string): Promise<Diagnosis> {
  const fix = "When selling may go on: `sutler contracts unpause --key-file <owner's key>`, or --unsigned for its Safe."
  return look({ area: 'chains', what: name, fix }, async () => {
    if (await contractAt(rpc, contract, craftController.abi).read('paused', []))
      throw new FoundTrouble('fail', `${contract} is paused.`, fix)
    return `at ${contract}`
  })
}

/** Money arrives at the treasury, which sends it back too, or at an address whose key is offline: at no other key of this machine (K-02). */
function checkRecipients(accounts: readonly RailAccount[], { sale, craft }: Config['game']): readonly Diagnosis[] {
  const hot = [
    ...accounts.flatMap(({ otherKeys }) => otherKeys.map(({ key }) => key)),
    sale?.minterKey,
    craft?.crafterKey,
  ]
    .filter((key) => key !== undefined)
    .map(addressOf)
  return accounts.map(({ rail, payTo, treasuryKey }): Diagnosis => {
    const check = { area: 'keys', what: `recipient of ${rail}` } as const
    if (hot.some((address) => sameAddress(address, payTo))) {
      const fix = 'Receive money at the treasury, or at an address whose key is offline.'
      return { ...check, severity: 'warn', detail: `${payTo} is a hot key with another role.`, fix }
    }
    const detail = sameAddress(addressOf(treasuryKey), payTo)
      ? 'is the treasury: refunds leave from where the money came'
      : 'is no key of this machine: refunds leave from the float of the treasury'
    return { ...check, severity: 'ok', detail, fix: null }
  })
}

function checkSigners(signers: readonly RoleSigner[]): Promise<readonly Diagnosis[]> {
  const fix = 'Start the signer at SUTLER_SIGNER_URL, and see that it has this key and answers within two seconds.'
  const remote = signers.filter(({ isRemote }) => isRemote)
  return Promise.all(
    remote.map(({ role, sender, rpc }) =>
      look({ area: 'keys', what: `signer of ${role} on ${rpc.chainId}`, fix }, async () => {
        await sender.assertReady()
        return `signs for ${sender.address}`
      }),
    ),
  )
}

async function checkWallets(
  config: Config,
  accounts: readonly RailAccount[],
  chainOf: (chain: ChainConfig) => ChainAccess,
): Promise<readonly Diagnosis[]> {
  const tills = accounts.map(({ network, asset, payTo }) => ({ rail: { network, asset, payTo } }))
  const signers = createSigners(allKeys(config), chainOf)
  const wallets = await readWallets(signers, tills, config.operations)
  // Not even a handful of transactions: then what it is for cannot be sold.
  const { gasLowWei } = config.operations
  const isEmpty = (unit: 'wei' | 'token', amount: bigint) => unit === 'wei' && amount < gasLowWei / 100n
  return wallets.map(({ role, chainId, address, unit, amount, isLow }): Diagnosis => {
    const shown =
      unit === 'wei' ? `${(Number(amount) / 1e18).toFixed(6)} for gas` : `${formatUsd(usd(amount))} for refunds`
    return {
      area: 'keys',
      what: `${role} on ${chainId}`,
      severity: isEmpty(unit, amount) ? 'fail' : isLow ? 'warn' : 'ok',
      detail: `${address} has ${shown}`,
      fix: isLow ? `Send ${unit === 'wei' ? "the chain's coin" : 'stablecoin'} to ${address}.` : null,
    }
  })
}
