import { isAddress, sameAddress } from '../base/address.ts'
import { readJwks, readSigningKey } from '../base/jws.ts'
import { parseUsd, type Usd } from '../base/money.ts'
import { Secret } from '../base/secret.ts'
import { readChain, readSecondOpinion, refuseLoneNodes } from './chain.ts'
import type {
  Config,
  ConfirmationTier,
  GameConfig,
  HttpConfig,
  MppConfig,
  OperationsConfig,
  ReceiptConfig,
  X402Config,
} from './config.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { mppNetworks, x402Networks } from './networks.ts'
import { ConfigFault, type Environment, type OptionReader, optionReader } from './options.ts'
import { SANDBOX_OPERATOR_TOKEN } from './published.ts'
import { readService } from './service.ts'

/** What every mode has. The sandbox adds chains, keys and contracts of its own. */
export type CommonConfig = Omit<Config, 'mode' | 'receipts' | 'x402' | 'mpp' | 'game'>

export type LoadedConfig =
  | {
      readonly mode: 'sandbox'
      readonly common: CommonConfig
      readonly protocols: { readonly x402: boolean; readonly mpp: boolean }
      /** A studio may try its own backend against the play-money world. */
      readonly backend: GameConfig['backend']
    }
  | { readonly mode: 'production'; readonly config: Config }

/** Reads the environment. No option at all means the sandbox; production never falls back to a sandbox value. */
export function loadConfig(env: Environment): LoadedConfig {
  const read = optionReader(env)
  const mode = read.choice('SUTLER_MODE', ['sandbox', 'production'], 'sandbox')
  const protocols = { x402: read.flag('SUTLER_X402', true), mpp: read.flag('SUTLER_MPP', true) }
  if (!protocols.x402 && !protocols.mpp)
    read.fault('SUTLER_MPP', 'both protocols are switched off; nothing could be sold', null)
  const common = readCommon(read, mode)
  const loaded: LoadedConfig =
    mode === 'sandbox'
      ? { mode, common, protocols, backend: readBackend(read) }
      : { mode, config: { mode, ...common, ...readProduction(read, protocols, common.http) } }
  if (loaded.mode === 'production') {
    refuseSharedKeys(read, loaded)
    refuseLoneNodes(read, loaded.config)
  }
  read.refuseUnknown('SUTLER_', productionOptions(env, protocols, common.http))
  if (read.issues.length > 0) throw new ConfigFault(read.issues)
  return loaded
}

function readCommon(read: OptionReader, mode: 'sandbox' | 'production'): CommonConfig {
  const dataDir = read.text('SUTLER_DATA_DIR', './data')
  const url = read.optional('DATABASE_URL')
  if (url !== undefined && !/^postgres(ql)?:\/\//.test(url))
    read.fault('DATABASE_URL', 'must start with postgres://', null)
  return {
    http: readHttp(read, mode),
    operatorToken:
      mode === 'production'
        ? readOperatorToken(read)
        : new Secret(read.text('SUTLER_OPERATOR_TOKEN', SANDBOX_OPERATOR_TOKEN)),
    store: {
      url,
      dataDir,
      poolSize: read.integer('SUTLER_DB_POOL', 10, { min: 1, max: 200 }),
      migrate: read.choice('SUTLER_DB_MIGRATE', ['auto', 'check'], 'auto'),
    },
    logLevel: read.choice('SUTLER_LOG', ['debug', 'info', 'warn', 'error'], mode === 'sandbox' ? 'warn' : 'info'),
    limits: readLimits(read),
    service: readService(read),
    operations: readOperations(read),
    blockedPayers: readBlockedPayers(read),
  }
}

/** A mistyped address would block nobody, and nobody would notice. */
function readBlockedPayers(read: OptionReader): ReadonlySet<string> {
  const option = 'SUTLER_BLOCKED_PAYERS'
  const payers = list(read.text(option, ''))
  for (const payer of payers) if (!isAddress(payer)) read.fault(option, `${payer} is not an address`, null)
  return new Set(payers.map((payer) => payer.toLowerCase()))
}

function readOperations(read: OptionReader): OperationsConfig {
  const seconds = { min: 0, max: 30 * 86_400 }
  return {
    webhookLoopback: read.flag('SUTLER_WEBHOOK_LOOPBACK', false),
    reconcileSeconds: read.integer('SUTLER_RECONCILE_SECONDS', 60, { min: 1, max: 300 }),
    orphans: read.choice('SUTLER_ORPHANS', ['refund', 'hold'], 'refund'),
    orphanAfterSeconds: read.integer('SUTLER_ORPHAN_AFTER_SECONDS', 600, seconds),
    orphanRefundSeconds: read.integer('SUTLER_ORPHAN_REFUND_SECONDS', 3_600, seconds),
    gasLowWei: read.bigint('SUTLER_GAS_LOW_WEI', 2_000_000_000_000_000n),
    treasuryLow: readUsd(read, 'SUTLER_TREASURY_LOW', '10.00'),
    secondOpinionFrom: readSecondOpinion(read),
  }
}

function readUsd(read: OptionReader, option: string, fallback: string): Usd {
  const text = read.text(option, fallback)
  return /^\d+(\.\d{1,6})?$/.test(text)
    ? parseUsd(text)
    : read.fault(option, `must be an amount of dollars, such as ${fallback}`, parseUsd(fallback))
}

function readReceipts(read: OptionReader): ReceiptConfig {
  const option = 'SUTLER_RECEIPT_KEY'
  const key = read.keyText(
    option,
    'the key that signs receipts, from `openssl ecparam -name prime256v1 -genkey -noout`',
  )
  try {
    if (key.reveal() !== '') readSigningKey(key)
  } catch {
    read.fault(option, 'is not a P-256 private key in PEM or JWK form', null)
  }
  const retired = read.text('SUTLER_RECEIPT_RETIRED_KEYS', '{"keys":[]}')
  try {
    return { key, retired: readJwks(retired) }
  } catch {
    return read.fault('SUTLER_RECEIPT_RETIRED_KEYS', 'must be a JSON Web Key Set of public P-256 keys', {
      key,
      retired: { keys: [] },
    })
  }
}

function readOperatorToken(read: OptionReader): Secret | null {
  const isSet = read.optional('SUTLER_OPERATOR_TOKEN') ?? read.optional('SUTLER_OPERATOR_TOKEN_FILE')
  return isSet === undefined ? null : read.secret('SUTLER_OPERATOR_TOKEN', 'a long random token')
}

function readHttp(read: OptionReader, mode: 'sandbox' | 'production'): HttpConfig {
  const port = read.integer('PORT', 4020, { min: 1, max: 65_535 })
  const host = read.text('HOST', mode === 'sandbox' ? '127.0.0.1' : '0.0.0.0')
  const own = `http://localhost:${port}`
  const baseUrl =
    mode === 'sandbox'
      ? read.text('SUTLER_BASE_URL', own)
      : read.required('SUTLER_BASE_URL', 'the public address of this shop, such as https://shop.example.com')
  const x402BaseUrl = read.text('SUTLER_X402_BASE_URL', baseUrl)
  return {
    host,
    port,
    baseUrl: baseUrl === '' ? '' : read.url('SUTLER_BASE_URL', baseUrl, { secure: mode === 'production' }),
    x402BaseUrl:
      x402BaseUrl === '' ? '' : read.url('SUTLER_X402_BASE_URL', x402BaseUrl, { secure: mode === 'production' }),
    proxyHops: read.integer('SUTLER_PROXY_HOPS', 0, { min: 0, max: 5 }),
    mcpOrigins: list(read.text('SUTLER_MCP_ORIGINS', '')),
  }
}

function readLimits(read: OptionReader): Limits {
  const perMinute = { min: 1, max: 1_000_000 }
  const { rate } = defaultLimits
  return {
    ...defaultLimits,
    waitMsMax: read.integer('SUTLER_WAIT_MS', defaultLimits.waitMsMax, { min: 100, max: 60_000 }),
    quantityMax: read.integer('SUTLER_QUANTITY_MAX', defaultLimits.quantityMax, { min: 1, max: 10_000 }),
    rate: {
      unpaid: read.integer('SUTLER_RATE_UNPAID', rate.unpaid, perMinute),
      quote: read.integer('SUTLER_RATE_QUOTE', rate.quote, perMinute),
      read: read.integer('SUTLER_RATE_READ', rate.read, perMinute),
      failed: read.integer('SUTLER_RATE_FAILED', rate.failed, perMinute),
    },
    openOrdersPerPayer: read.integer('SUTLER_OPEN_ORDERS_PER_PAYER', defaultLimits.openOrdersPerPayer, {
      min: 1,
      max: 1_000_000,
    }),
    refundsPerPayer: read.integer('SUTLER_REFUNDS_PER_PAYER', defaultLimits.refundsPerPayer, {
      min: 0,
      max: 1_000_000,
    }),
    refundsPerDay: readUsd(read, 'SUTLER_REFUNDS_PER_DAY', '1000.00'),
    replaysPerPayment: read.integer('SUTLER_RATE_REPLAY', defaultLimits.replaysPerPayment, perMinute),
    connectionsPerClientMax: read.integer('SUTLER_CONNECTIONS_PER_CLIENT', defaultLimits.connectionsPerClientMax, {
      min: 1,
      max: 1_000_000,
    }),
    requestsMax: read.integer('SUTLER_REQUESTS_MAX', defaultLimits.requestsMax, { min: 1, max: 1_000_000 }),
    purchasesMax: read.integer('SUTLER_PURCHASES_MAX', defaultLimits.purchasesMax, { min: 1, max: 1_000_000 }),
  }
}

function readProduction(
  read: OptionReader,
  protocols: { x402: boolean; mpp: boolean },
  http: HttpConfig,
): Pick<Config, 'receipts' | 'x402' | 'mpp' | 'game'> {
  return {
    receipts: readReceipts(read),
    x402: protocols.x402 ? readX402(read) : null,
    mpp: protocols.mpp ? readMpp(read, http) : null,
    game: readGame(read),
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
    payTo: read.address('SUTLER_X402_PAY_TO', 'the address that receives the money; keep its key offline'),
    facilitator:
      facilitator === 'inproc'
        ? {
            kind: 'inproc',
            settlerKey: read.privateKey('SUTLER_X402_SETTLER_KEY', 'the key that pays gas for settlements'),
          }
        : {
            kind: 'remote',
            url: read.url('SUTLER_X402_FACILITATOR', facilitator, { secure: true }),
            headers: readHeaders(read, 'SUTLER_X402_FACILITATOR_HEADERS'),
          },
    treasuryKey: read.privateKey('SUTLER_X402_TREASURY_KEY', 'the key that sends refunds; keep little money on it'),
    confirmations: readConfirmations(read, 'SUTLER_X402_CONFIRMATIONS', '0:1,1.01:3,100.01:60'),
    sinceBlock: readSinceBlock(read, 'SUTLER_X402_SINCE_BLOCK'),
  }
}

function readMpp(read: OptionReader, http: HttpConfig): MppConfig {
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
    recipient: read.address('SUTLER_MPP_RECIPIENT', 'the address that receives the money; keep its key offline'),
    realm,
    secrets:
      previous === undefined
        ? [current]
        : [current, read.secret('SUTLER_MPP_SECRET_PREVIOUS', 'the secret before the last rotation')],
    modes,
    treasuryKey: read.privateKey('SUTLER_MPP_TREASURY_KEY', 'the key that sends refunds; keep little money on it'),
    confirmations: readConfirmations(read, 'SUTLER_MPP_CONFIRMATIONS', '0:1'),
    sinceBlock: readSinceBlock(read, 'SUTLER_MPP_SINCE_BLOCK'),
  }
}

function readGame(read: OptionReader): GameConfig {
  const chainId = read.integer('SUTLER_GAME_CHAIN_ID', 8453, { min: 1, max: Number.MAX_SAFE_INTEGER })
  const hasSale = read.optional('SUTLER_SALE_CONTRACT') !== undefined
  const hasCraft = read.optional('SUTLER_CRAFT_CONTROLLER') !== undefined
  return {
    chain: readChain(read, {
      prefix: 'SUTLER_GAME',
      chainId,
      what: "RPC addresses of the game's chain, separated by commas",
      paysGasInCoin: true,
    }),
    sale: hasSale
      ? {
          contract: read.address('SUTLER_SALE_CONTRACT', 'the sale contract'),
          saleIds: readSaleIds(read),
          minterKey: read.privateKey('SUTLER_MINTER_KEY', 'the key with the minter role'),
        }
      : null,
    craft: hasCraft
      ? {
          controller: read.address('SUTLER_CRAFT_CONTROLLER', 'the craft controller'),
          crafterKey: read.privateKey('SUTLER_CRAFTER_KEY', "the key with the controller's operator role"),
          defaultAmount: read.bigint('SUTLER_CRAFT_DEFAULT_AMOUNT', 10n ** 18n),
          maxAmount: read.bigint('SUTLER_CRAFT_MAX_AMOUNT', 1000n * 10n ** 18n),
        }
      : null,
    backend: readBackend(read),
  }
}

function readBackend(read: OptionReader): GameConfig['backend'] {
  const backend = read.text('SUTLER_GAME_BACKEND', 'embedded')
  if (backend === 'embedded') return { kind: 'embedded' }
  return {
    kind: 'http',
    url: read.url('SUTLER_GAME_BACKEND', backend, { secure: true }),
    secret: read.secret('SUTLER_GAME_BACKEND_SECRET', 'the secret shared with the game backend'),
  }
}

function readSinceBlock(read: OptionReader, option: string): bigint | null {
  return read.optional(option) === undefined ? null : read.bigint(option, 0n)
}

function readSaleIds(read: OptionReader): readonly number[] {
  return list(read.required('SUTLER_SALE_IDS', 'the sale ids on offer, separated by commas')).map((id) =>
    /^\d{1,15}$/.test(id) ? Number(id) : read.fault('SUTLER_SALE_IDS', `${id} is not a sale id`, 0),
  )
}

/** The names that production would read, for a sandbox that was given some of them. */
function productionOptions(
  env: Environment,
  protocols: { x402: boolean; mpp: boolean },
  http: HttpConfig,
): ReadonlySet<string> {
  const scratch = optionReader(env)
  readProduction(scratch, protocols, http)
  return scratch.known
}

function readHeaders(read: OptionReader, option: string): Readonly<Record<string, Secret>> {
  const text = read.optional(option)
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

/** One leaked key must not open two doors (K-02). */
function refuseSharedKeys(read: OptionReader, loaded: LoadedConfig): void {
  if (loaded.mode !== 'production') return
  const { x402, mpp, game } = loaded.config
  const keys: [string, Secret | undefined][] = [
    ['SUTLER_X402_SETTLER_KEY', x402?.facilitator.kind === 'inproc' ? x402.facilitator.settlerKey : undefined],
    ['SUTLER_X402_TREASURY_KEY', x402?.treasuryKey],
    ['SUTLER_MPP_TREASURY_KEY', mpp?.treasuryKey],
    ['SUTLER_MINTER_KEY', game.sale?.minterKey],
    ['SUTLER_CRAFTER_KEY', game.craft?.crafterKey],
  ]
  const seen = new Map<string, string>()
  for (const [option, key] of keys) {
    const value = key?.reveal().toLowerCase()
    if (!value) continue
    const other = seen.get(value)
    // The two treasuries are on two chains and may be one person's key; a key with a role on a contract may be nothing else.
    if (other && !(option.endsWith('TREASURY_KEY') && other.endsWith('TREASURY_KEY')))
      read.fault(option, `is the same key as ${other}; use one key per role`, null)
    seen.set(value, option)
  }
  if (x402 && sameAddress(x402.payTo, x402.asset))
    read.fault('SUTLER_X402_PAY_TO', 'is the token contract itself', null)
  if (mpp && sameAddress(mpp.recipient, mpp.currency.address))
    read.fault('SUTLER_MPP_RECIPIENT', 'is the token contract itself', null)
}

function list(text: string): readonly string[] {
  return text
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}
