import type { Address } from '../base/address.ts'
import { type KeyRole, keyRoles } from './key-roles.ts'
import { mppNetworks, x402Networks } from './networks.ts'
import { surfaceNames, surfaceOption } from './surfaces.ts'

/** Every network that a shop can be paid on, by the name of its preset. */
export const networkNames: readonly string[] = [...Object.keys(x402Networks), ...Object.keys(mppNetworks)]
/** Those that contracts can stand on as well. */
export const contractNetworks: readonly string[] = Object.keys(x402Networks)

/** What somebody who opens a shop has decided. */
export type ShopOpening = {
  readonly baseUrl: string
  readonly name: string
  readonly contactEmail: string | null
  readonly databaseUrl: string | null
  readonly surfaces: readonly string[]
  /** At most one of each protocol, with its RPC addresses and where its money arrives. */
  readonly networks: readonly {
    readonly name: string
    readonly rpcUrls: readonly string[]
    /** Null: at the treasury, so that refunds leave from where the money came. */
    readonly payTo: Address | null
  }[]
  /** Where the contracts stand. */
  readonly game: { readonly name: string; readonly rpcUrls: readonly string[] }
}

/** What is wrong with the choice of networks; null: nothing. */
export function networksTrouble(names: readonly string[]): string | null {
  const unknown = names.find((name) => !networkNames.includes(name))
  if (unknown !== undefined) return `there is no network ${unknown}; there are ${networkNames.join(', ')}`
  for (const presets of [x402Networks, mppNetworks]) {
    const twice = names.filter((name) => name in presets)
    if (twice.length > 1) return `${twice.join(' and ')} are two of a kind; choose one of them`
  }
  return names.length === 0 ? `choose at least one network of ${networkNames.join(', ')}` : null
}

/** The keys and secrets that such a shop needs. */
export function keysOf({ networks, surfaces }: ShopOpening): readonly KeyRole[] {
  const isOn = { x402: of(networks, x402Networks) !== null, mpp: of(networks, mppNetworks) !== null, game: true }
  return keyRoles.filter(({ role, chain, surface }) => {
    if (surface !== null) return surfaces.includes(surface)
    if (role === 'challenges') return isOn.mpp
    return chain === null || isOn[chain]
  })
}

function of(networks: ShopOpening['networks'], presets: Readonly<Record<string, unknown>>) {
  return networks.find(({ name }) => name in presets) ?? null
}

/** The chain id of a preset. */
function chainIdOf(network: string): number {
  return (x402Networks[network] ?? mppNetworks[network])!.chainId
}

/** The name of the network that a key works on, for people. */
export function networkFor({ chain }: KeyRole, { networks, game }: ShopOpening): string | null {
  if (chain === null) return null
  return chain === 'game' ? game.name : (of(networks, chain === 'x402' ? x402Networks : mppNetworks)?.name ?? null)
}

/** A configuration that a start takes as it is; `fileOf` says where the key of a role lies, and `addressOf` which address it has. */
export function openingText(
  opening: ShopOpening,
  fileOf: (role: string) => string,
  addressOf: (role: string) => Address,
): string {
  const { baseUrl, name, contactEmail, databaseUrl, surfaces, networks, game } = opening
  const x402 = of(networks, x402Networks)
  const mpp = of(networks, mppNetworks)
  const hosts = (urls: readonly string[]) => new Set(urls.map((url) => new URL(url).host)).size
  const isLonely = networks.some(({ rpcUrls }) => hosts(rpcUrls) < 2)
  const lines = [
    '# Made by `sutler init`. Every other option is explained in .env.example.',
    'SUTLER_MODE=production',
    `SUTLER_BASE_URL=${baseUrl}`,
    `SUTLER_NAME=${quoted(name)}`,
    // The shop speaks plain HTTP: whoever is reached by https has a proxy in front.
    ...(baseUrl.startsWith('https:') ? ['SUTLER_PROXY_HOPS=1'] : []),
    contactEmail === null ? '# SUTLER_CONTACT_EMAIL=' : `SUTLER_CONTACT_EMAIL=${contactEmail}`,
    databaseUrl === null ? '# DATABASE_URL=' : `DATABASE_URL=${databaseUrl}`,
    ...(isLonely
      ? [
          '# There is one RPC host only for a network. Add a second, and take this line out: until then a single node is believed.',
        ]
      : []),
    ...(isLonely ? ['SUTLER_SECOND_OPINION_FROM=never'] : []),
    '',
    ...(x402 ? railLines('X402', x402, `PAY_TO=${x402.payTo ?? addressOf('x402-treasury')}`) : ['SUTLER_X402=false']),
    ...(mpp ? railLines('MPP', mpp, `RECIPIENT=${mpp.payTo ?? addressOf('mpp-treasury')}`) : ['SUTLER_MPP=false']),
    '',
    ...surfaceNames.filter((surface) => !surfaces.includes(surface)).map((one) => `${surfaceOption(one)}=false`),
    `SUTLER_GAME_CHAIN_ID=${chainIdOf(game.name)}`,
    `SUTLER_GAME_RPC_URL=${game.rpcUrls.join(',')}`,
    ...(surfaces.includes('sale') ? ['# SUTLER_SALE_CONTRACT='] : []),
    ...(surfaces.includes('craft') ? ['# SUTLER_CRAFT_CONTROLLER='] : []),
    '',
    ...keysOf(opening).map(({ role, option }) => `${option}_FILE=${fileOf(role)}`),
  ]
  return `${lines.join('\n')}\n`
}

function railLines(rail: string, network: ShopOpening['networks'][number], recipient: string): readonly string[] {
  const { name, rpcUrls } = network
  const prefix = `SUTLER_${rail}`
  return [`${prefix}_NETWORK=${name}`, `${prefix}_RPC_URL=${rpcUrls.join(',')}`, `${prefix}_${recipient}`]
}

function quoted(text: string): string {
  return /^[\w.-]+$/.test(text) ? text : `"${text.replaceAll('"', '')}"`
}
