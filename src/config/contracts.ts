import type { Address } from '../base/address.ts'
import type { Secret } from '../base/secret.ts'
import type { ChainConfig } from './config.ts'
import { readGameChain } from './load.ts'
import { ConfigFault, type Environment, optionReader, readSecretFile } from './options.ts'
import type { ChainKey } from './signing-key.ts'

/** What it takes to make contracts and to look after them. They come before the shop, so nothing else need be complete. */
export type ContractsConfig = {
  readonly chain: ChainConfig
  /** Null until they are there. */
  readonly sale: Address | null
  readonly craft: Address | null
  readonly minterKey: ChainKey | null
  readonly crafterKey: ChainKey | null
  /** False: the surface is switched off. */
  readonly sellsLots: boolean
  readonly sellsCraft: boolean
  readonly shopName: string
}

export function readContractsConfig(env: Environment): ContractsConfig {
  const read = optionReader(env)
  const isSet = (option: string) => [option, `${option}_FILE`].some((name) => read.optional(name) !== undefined)
  const chainId = read.integer('SUTLER_GAME_CHAIN_ID', 8453, { min: 1, max: Number.MAX_SAFE_INTEGER })
  const addressOf = (option: string) => (isSet(option) ? read.address(option, '') : null)
  const keyOf = (option: string) => (isSet(option) ? read.signingKey(option, '') : null)
  const config: ContractsConfig = {
    chain: readGameChain(read, chainId),
    sale: addressOf('SUTLER_SALE_CONTRACT'),
    craft: addressOf('SUTLER_CRAFT_CONTROLLER'),
    minterKey: keyOf('SUTLER_MINTER_KEY'),
    crafterKey: keyOf('SUTLER_CRAFTER_KEY'),
    sellsLots: read.flag('SUTLER_SALE', true),
    sellsCraft: read.flag('SUTLER_CRAFT', true),
    shopName: read.text('SUTLER_NAME', 'Sutler'),
  }
  if (read.issues.length > 0) throw new ConfigFault(read.issues)
  return config
}

/** The key that signs for the contracts. The shop itself never has it: it is no option of the shop. Null when none is given. */
export function readDeployerKey(env: Environment, file: string | undefined): Secret | null {
  const named = file ?? env['DEPLOYER_KEY_FILE']
  if (named === undefined && env['DEPLOYER_KEY'] === undefined) return null
  const text = named === undefined ? { text: env['DEPLOYER_KEY'], trouble: null } : readSecretFile(named)
  const option = file === undefined ? 'DEPLOYER_KEY' : '--key-file'
  if (text.trouble !== null) throw new ConfigFault([{ option, message: `names a file ${text.trouble}` }])
  const read = optionReader({ [option]: text.text })
  const key = read.privateKey(option, 'the key that deploys')
  if (read.issues.length > 0) throw new ConfigFault(read.issues)
  return key
}
