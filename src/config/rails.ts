import { parseUsd } from '../base/money.ts'
import { Secret } from '../base/secret.ts'
import { readChain } from './chain.ts'
import type { Config, ConfirmationTier, HttpConfig, MppConfig, X402Config } from './config.ts'
import { mppNetworks, x402Networks } from './networks.ts'
import { list, type OptionReader } from './options.ts'

/** Which protocols sell. */
export type Protocols = { readonly x402: boolean; readonly mpp: boolean }

/** What signs the quotes of a protocol that has no secret for that: any value that all replicas of the shop have, and only they. */
export function challengeSecrets({ mpp, receipts }: Pick<Config, 'mpp' | 'receipts'>): MppConfig['secrets'] {
  return mpp?.secrets ?? [receipts.key]
}

/** A protocol that is switched off while its options are still there is retired: it finishes what it sold. */
export function readRails(
  read: OptionReader,
  protocols: Protocols,
  http: Pick<HttpConfig, 'baseUrl'>,
): Pick<Config, 'x402' | 'mpp' | 'retired'> {
  const isKept = (rail: 'X402' | 'MPP') => read.optional(`SUTLER_${rail}_RPC_URL`) !== undefined
  const x402 = protocols.x402 || isKept('X402') ? readX402(read) : null
  const mpp = protocols.mpp || isKept('MPP') ? readMpp(read, http) : null
  return {
    x402: protocols.x402 ? x402 : null,
    mpp: protocols.mpp ? mpp : null,
    retired: [
      ...(x402 && !protocols.x402 ? [{ rail: 'x402' as const, config: x402 }] : []),
      ...(mpp && !protocols.mpp ? [{ rail: 'mpp' as const, config: mpp }] : []),
    ],
  }
}

function readX402(read: OptionReader): X402Config {
  const preset = read.choice('SUTLER_X402_NETWORK', Object.keys(x402Networks), 'base')
  const { chainId, asset, assetName, assetVersion, currency } = x402Networks[preset]!
  const facilitator = read.text('SUTLER_X402_FACILITATOR', 'inproc')
  if (facilitator !== 'inproc')
    read.refuseUseless('SUTLER_X402_SETTLER_KEY', 'is not used: the remote facilitator settles, and pays the gas')
  return {
    chain: readChain(read, {
      prefix: 'SUTLER_X402',
      chainId,
      what: `RPC addresses of ${preset}, separated by commas`,
      paysGasInCoin: true,
    }),
    network: `eip155:${chainId}`,
    asset,
    assetName,
    assetVersion,
    currency,
    payTo: read.address(
      'SUTLER_X402_PAY_TO',
      'the address that receives the money: that of the treasury, or a cold one',
    ),
    facilitator:
      facilitator === 'inproc'
        ? {
            kind: 'inproc',
            settlerKey: read.signingKey('SUTLER_X402_SETTLER_KEY', 'the key that pays gas for settlements'),
          }
        : {
            kind: 'remote',
            url: read.url('SUTLER_X402_FACILITATOR', facilitator, { secure: true }),
            headers: readHeaders(read, 'SUTLER_X402_FACILITATOR_HEADERS'),
          },
    treasuryKey: read.signingKey('SUTLER_X402_TREASURY_KEY', 'the key that sends refunds; keep little money on it'),
    confirmations: readConfirmations(read, 'SUTLER_X402_CONFIRMATIONS', '0:1,1.01:3,100.01:60'),
    sinceBlock: readSinceBlock(read, 'SUTLER_X402_SINCE_BLOCK'),
  }
}

function readMpp(read: OptionReader, http: Pick<HttpConfig, 'baseUrl'>): MppConfig {
  const preset = read.choice('SUTLER_MPP_NETWORK', Object.keys(mppNetworks), 'tempo')
  const { chainId, currency } = mppNetworks[preset]!
  const previous = read.optional('SUTLER_MPP_SECRET_PREVIOUS') ?? read.optional('SUTLER_MPP_SECRET_PREVIOUS_FILE')
  const current = read.secret('SUTLER_MPP_SECRET', 'a random secret that signs challenges')
  const named = list(read.text('SUTLER_MPP_MODES', 'pull,push'))
  const modes = named.filter((mode) => mode === 'pull' || mode === 'push')
  if (modes.length === 0 || modes.length < named.length)
    read.fault('SUTLER_MPP_MODES', 'must be pull, push, or both', null)
  const realm = read.text('SUTLER_MPP_REALM', URL.canParse(http.baseUrl) ? new URL(http.baseUrl).hostname : '')
  if (!/^[\x20-\x7e]*$/.test(realm)) read.fault('SUTLER_MPP_REALM', 'travels in a header and must be plain ASCII', null)
  return {
    chain: readChain(read, {
      prefix: 'SUTLER_MPP',
      chainId,
      what: `RPC addresses of ${preset}, separated by commas`,
      paysGasInCoin: false,
    }),
    network: `tempo:${chainId}`,
    currency,
    recipient: read.address(
      'SUTLER_MPP_RECIPIENT',
      'the address that receives the money: that of the treasury, or a cold one',
    ),
    realm,
    secrets:
      previous === undefined
        ? [current]
        : [current, read.secret('SUTLER_MPP_SECRET_PREVIOUS', 'the secret before the last rotation')],
    modes,
    treasuryKey: read.signingKey('SUTLER_MPP_TREASURY_KEY', 'the key that sends refunds; keep little money on it'),
    confirmations: readConfirmations(read, 'SUTLER_MPP_CONFIRMATIONS', '0:1'),
    sinceBlock: readSinceBlock(read, 'SUTLER_MPP_SINCE_BLOCK'),
  }
}

function readSinceBlock(read: OptionReader, option: string): bigint | null {
  return read.optional(option) === undefined ? null : read.bigint(option, 0n)
}

function readHeaders(read: OptionReader, option: string): Readonly<Record<string, Secret>> {
  const text = read.optionalSecret(option)
  if (text === undefined) return {}
  try {
    return Object.fromEntries(
      Object.entries(JSON.parse(text) as Record<string, string>).map(([name, value]) => [
        name,
        new Secret(String(value)),
      ]),
    )
  } catch {
    return read.fault(option, 'must be a JSON object of header names and values', {})
  }
}

function readConfirmations(read: OptionReader, option: string, fallback: string): readonly ConfirmationTier[] {
  return list(read.text(option, fallback)).map((tier) => {
    const [amount = '', blocks = ''] = tier.split(':')
    if (/^\d+(\.\d{1,6})?$/.test(amount) && /^[1-9]\d{0,3}$/.test(blocks))
      return { fromAmount: parseUsd(amount), blocks: Number(blocks) }
    return read.fault(option, `${tier} is not of the form amount:blocks, such as 100:3`, {
      fromAmount: parseUsd('0'),
      blocks: 1,
    })
  })
}
