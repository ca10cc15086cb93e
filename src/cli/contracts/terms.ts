import { type Address, type Hash, isAddress } from '../../base/address.ts'
import { toHex } from '../../base/hex.ts'
import { keccak256 } from '../../base/keccak.ts'
import type { ContractsConfig } from '../../config/contracts.ts'
import type { ChainKey } from '../../config/signing-key.ts'
import { addressOf } from '../../outbox/wallet.ts'
import type { DeploymentTerms } from '../../setup/deployment.ts'
import { SetupFault } from '../../setup/fault.ts'
import { type CommandCall, type Option, UsageFault } from '../command.ts'
import { readAddressOption } from './workplace.ts'

const COMMAND = 'contracts deploy'

/** What decides which contracts come to stand where. */
export const termOptions: Readonly<Record<string, Option>> = {
  owner: {
    value: 'address',
    about: 'who owns the contracts in the end, a cold address or a Safe; else the key that deploys',
  },
  'lot-manager': {
    value: 'address',
    about: 'who may set lots beside the owner; `deployer`: the key that deploys keeps it',
  },
  only: { value: 'sale|craft', about: 'one of the two; else all surfaces that are switched on' },
  name: { value: 'name', about: 'of the tokens that lots are minted as; else SUTLER_NAME and "Lots"' },
  symbol: { value: 'symbol', about: 'of these tokens; else LOT' },
  'craft-token': { value: 'token', about: 'its address, or Name:SYMBOL to make a new one' },
  collections: { value: 'addresses', about: 'NFT collections that may be burned, separated by commas' },
  'craft-seconds': { value: 'seconds', about: 'how long crafting takes; else 3600' },
  'seconds-per-token': { value: 'seconds', about: 'what one craft token saves; else 600' },
  minter: { value: 'address', about: 'who mints sold lots; else the address of SUTLER_MINTER_KEY' },
  crafter: { value: 'address', about: 'who burns and accelerates; else the address of SUTLER_CRAFTER_KEY' },
  salt: { value: 'text', about: 'any text; another one gives other addresses, for a second shop of the same owner' },
}

export function hasTerms(call: CommandCall): boolean {
  return Object.keys(termOptions).some((name) => call.option(name) !== undefined)
}

/** `deployer` is null when nobody signs here: then the owner does all of it. */
export function readTerms(call: CommandCall, config: ContractsConfig, deployer: Address | null): DeploymentTerms {
  const owner = addressOption(call, 'owner') ?? deployer
  if (owner === null)
    throw new UsageFault('say with --owner which Safe is to own the contracts; nothing was written', COMMAND)
  const admin = deployer ?? owner
  const only = call.option('only')
  if (only !== undefined && only !== 'sale' && only !== 'craft')
    throw new UsageFault(`--only takes sale or craft, not ${only}; nothing was sent`, COMMAND)
  const terms: DeploymentTerms = {
    chainId: config.chain.chainId,
    salt: saltOf(owner, call.option('salt')),
    admin,
    owner,
    lotManager: lotManagerOf(call, deployer),
    sale: only === 'craft' || (only === undefined && !config.sellsLots) ? null : saleTerms(call, config),
    craft: only === 'sale' || (only === undefined && !config.sellsCraft) ? null : craftTerms(call, config),
  }
  if (!terms.sale && !terms.craft)
    throw new SetupFault(
      'nothing_to_deploy',
      'SUTLER_SALE and SUTLER_CRAFT are both false, so no contract is needed; nothing was sent. Go on with `sutler doctor`',
    )
  return terms
}

/** A key may deploy for several owners: each gets contracts of its own. */
function saltOf(owner: Address, text: string | undefined): Hash {
  return toHex(keccak256(Buffer.from(`sutler contracts of ${owner.toLowerCase()} ${text ?? ''}`)))
}

function lotManagerOf(call: CommandCall, deployer: Address | null): Address | null {
  if (call.option('lot-manager') !== 'deployer') return addressOption(call, 'lot-manager')
  if (deployer === null)
    throw new UsageFault(
      'with --unsigned nobody deploys here; give --lot-manager an address; nothing was written',
      COMMAND,
    )
  return deployer
}

function saleTerms(call: CommandCall, { minterKey, shopName }: ContractsConfig): DeploymentTerms['sale'] {
  return {
    name: call.option('name') ?? `${shopName} Lots`,
    symbol: call.option('symbol') ?? 'LOT',
    minter: keyHolder(call, { option: 'minter', key: minterKey, variable: 'SUTLER_MINTER_KEY', surface: 'craft' }),
  }
}

function craftTerms(call: CommandCall, { crafterKey }: ContractsConfig): DeploymentTerms['craft'] {
  const list = (call.option('collections') ?? '').split(',').filter((part) => part !== '')
  return {
    token: tokenOf(call),
    collections: list.map((one) => readAddressOption(one.trim(), 'the collection', COMMAND)),
    craftSeconds: secondsOf(call, 'craft-seconds', 3_600),
    secondsPerToken: secondsOf(call, 'seconds-per-token', 600),
    crafter: keyHolder(call, { option: 'crafter', key: crafterKey, variable: 'SUTLER_CRAFTER_KEY', surface: 'sale' }),
  }
}

function tokenOf(call: CommandCall): Address | { readonly name: string; readonly symbol: string } {
  const given = call.option('craft-token')
  if (given === undefined)
    throw new SetupFault(
      'no_craft_token',
      'crafting is sped up with a token, and none is named; nothing was sent. Add --craft-token 0x… for one that exists, ' +
        '--craft-token Ember:EMBER to make one, or --only sale to leave crafting out',
    )
  const [name = '', symbol = '', ...rest] = given.split(':')
  if (!isAddress(given) && name !== '' && symbol !== '' && rest.length === 0) return { name, symbol }
  return readAddressOption(given, 'the craft token', COMMAND)
}

function secondsOf(call: CommandCall, option: string, fallback: number): number {
  const text = call.option(option) ?? String(fallback)
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new UsageFault(`--${option} takes a whole number of seconds, such as ${fallback}; nothing was sent`, COMMAND)
  return Number(text)
}

type Holder = {
  readonly option: string
  readonly key: ChainKey | null
  readonly variable: string
  readonly surface: string
}

function keyHolder(call: CommandCall, { option, key, variable, surface }: Holder): Address {
  const given = addressOption(call, option)
  if (given !== null) return given
  if (key !== null) return addressOf(key)
  throw new SetupFault(
    'no_key_holder',
    `it is not known who is to have the role of the ${option}; nothing was sent. Make the key with \`sutler keys make ${option}\`, ` +
      `set ${variable}_FILE or add --${option} 0x…; or leave its contract out with --only ${surface}`,
  )
}

function addressOption(call: CommandCall, option: string): Address | null {
  const given = call.option(option)
  return given === undefined ? null : readAddressOption(given, `--${option}`, COMMAND)
}
