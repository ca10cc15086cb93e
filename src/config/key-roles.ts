import type { Environment } from './options.ts'
import type { ConfiguredSurface } from './surfaces.ts'

/** What a key or secret of the shop is for, by the option that names it. */
export type KeyRole = {
  readonly role: string
  readonly option: string
  /** `account`: signs transactions. `text`: any long random text. `receipts`: a P-256 key. */
  readonly kind: 'account' | 'text' | 'receipts'
  /** On which chain an account works. */
  readonly chain: 'x402' | 'mpp' | 'game' | null
  /** Kept on it, in the words of a list. */
  readonly keeps: string
  /** The role on a contract that it needs, and the surface that contract is for: without it nobody needs the key. */
  readonly contractRole: 'minter' | 'crafter' | null
  readonly surface: Extract<ConfiguredSurface, 'sale' | 'craft'> | null
  /** Refunds are paid from it. */
  readonly hasFloat: boolean
  /** Where the value before the last rotation is kept for a while; null: nowhere. */
  readonly previousOption: string | null
}

const noContract = { contractRole: null, surface: null } as const
const account = { ...noContract, kind: 'account', hasFloat: false, previousOption: null } as const
const gameAccount = { ...account, chain: 'game', keeps: 'gas' } as const
const text = { ...noContract, chain: null, hasFloat: false, keeps: 'nothing', previousOption: null } as const

export const keyRoles: readonly KeyRole[] = [
  { ...account, role: 'settler', option: 'SUTLER_X402_SETTLER_KEY', chain: 'x402', keeps: 'gas' },
  {
    ...account,
    role: 'x402-treasury',
    option: 'SUTLER_X402_TREASURY_KEY',
    chain: 'x402',
    keeps: 'gas; a float for refunds where money arrives elsewhere',
    hasFloat: true,
  },
  {
    ...account,
    role: 'mpp-treasury',
    option: 'SUTLER_MPP_TREASURY_KEY',
    chain: 'mpp',
    keeps: 'a little for fees; a float for refunds where money arrives elsewhere',
    hasFloat: true,
  },
  { ...gameAccount, role: 'minter', option: 'SUTLER_MINTER_KEY', contractRole: 'minter', surface: 'sale' },
  { ...gameAccount, role: 'crafter', option: 'SUTLER_CRAFTER_KEY', contractRole: 'crafter', surface: 'craft' },
  {
    ...text,
    role: 'challenges',
    option: 'SUTLER_MPP_SECRET',
    kind: 'text',
    previousOption: 'SUTLER_MPP_SECRET_PREVIOUS',
  },
  { ...text, role: 'operator', option: 'SUTLER_OPERATOR_TOKEN', kind: 'text' },
  { ...text, role: 'receipts', option: 'SUTLER_RECEIPT_KEY', kind: 'receipts' },
]

/** The key that makes the contracts. The shop never has it, so it is no option. */
export const DEPLOYER = 'deployer'

/** The file that an option names, or null when it is given otherwise or not at all. */
export function keyFileOf(env: Environment, { option }: KeyRole): string | null {
  return env[`${option}_FILE`]?.trim() || null
}

export function isKeySet(env: Environment, { option }: KeyRole): boolean {
  return [option, `${option}_FILE`].some((name) => (env[name] ?? '').trim() !== '')
}
