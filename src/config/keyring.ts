import type { Address } from '../base/address.ts'
import { readChain } from './chain.ts'
import type { ChainConfig } from './config.ts'
import { isKeySet, type KeyRole, keyFileOf, keyRoles } from './key-roles.ts'
import { mppNetworks, x402Networks } from './networks.ts'
import { type Environment, optionReader } from './options.ts'
import type { ChainKey } from './signing-key.ts'

export type RingKey = {
  readonly role: KeyRole
  readonly file: string | null
  /** Null for what signs no transactions, and for what is missing or wrong. */
  readonly key: ChainKey | null
  readonly isSet: boolean
  /** What is wrong with it; null: nothing. */
  readonly trouble: string | null
  /** Where it works, and the token that refunds are paid in; null when that is not configured. */
  readonly chain: ChainConfig | null
  readonly token: Address | null
}

export type Keyring = {
  readonly keys: readonly RingKey[]
  readonly contracts: { readonly minter: Address | null; readonly crafter: Address | null }
}

/** All keys and secrets that the options name, however incomplete the rest of the configuration is. */
export function readKeyring(env: Environment): Keyring {
  const read = optionReader(env)
  const contractAt = (option: string) => (read.optional(option) === undefined ? null : read.address(option, ''))
  return {
    keys: keyRoles.map((role): RingKey => {
      const reader = optionReader(env)
      const isSet = isKeySet(env, role)
      const found = isSet && role.kind === 'account' ? reader.signingKey(role.option, '') : null
      if (isSet && role.kind !== 'account') reader.keyText(role.option, '')
      const trouble = reader.issues[0]?.message ?? null
      const key = trouble === null ? found : null
      return { role, file: keyFileOf(env, role), key, isSet, trouble, ...placeOf(env, role) }
    }),
    contracts: { minter: contractAt('SUTLER_SALE_CONTRACT'), crafter: contractAt('SUTLER_CRAFT_CONTROLLER') },
  }
}

function placeOf(env: Environment, { chain }: KeyRole): Pick<RingKey, 'chain' | 'token'> {
  if (chain === null) return { chain: null, token: null }
  const read = optionReader(env)
  const prefix = `SUTLER_${chain.toUpperCase()}`
  const paysGasInCoin = chain !== 'mpp'
  const { chainId, token } = networkOf(env, chain)
  const found = readChain(read, { prefix, chainId, what: '', paysGasInCoin })
  return { chain: read.issues.length === 0 ? found : null, token }
}

function networkOf(env: Environment, chain: 'x402' | 'mpp' | 'game') {
  const chosen = (option: string, fallback: string) => env[option]?.trim() || fallback
  if (chain === 'game') return { chainId: Number(chosen('SUTLER_GAME_CHAIN_ID', '8453')), token: null }
  if (chain === 'x402') {
    const network = x402Networks[chosen('SUTLER_X402_NETWORK', 'base')] ?? x402Networks['base']!
    return { chainId: network.chainId, token: network.asset }
  }
  const network = mppNetworks[chosen('SUTLER_MPP_NETWORK', 'tempo')] ?? mppNetworks['tempo']!
  return { chainId: network.chainId, token: network.currency.address }
}
