import { isAddress, sameAddress } from '../base/address.ts'
import { readJwks, readSigningKey } from '../base/jws.ts'
import { parseUsd, type Usd } from '../base/money.ts'
import { PLACEHOLDER_NICKNAME } from '../base/placeholder.ts'
import { Secret } from '../base/secret.ts'
import { readChain, readSecondOpinion, refuseLoneNodes } from './chain.ts'
import type {
  ChainConfig,
  Config,
  GameConfig,
  HttpConfig,
  OperationsConfig,
  ReceiptConfig,
  SaleConfig,
} from './config.ts'
import { defaultLimits, type Limits } from './limits.ts'
import { readOperators } from './operators.ts'
import { ConfigFault, type Environment, list, type OptionReader, optionReader } from './options.ts'
import { SANDBOX_OPERATOR_TOKEN } from './published.ts'
import { type Protocols, readRails } from './rails.ts'
import { readService } from './service.ts'
import { settingsOf } from './settings.ts'
import type { ChainKey } from './signing-key.ts'
import { surfaceNames, surfaceOption } from './surfaces.ts'

/** What every mode has. The sandbox adds chains, keys and contracts of its own. */
type CommonConfig = Omit<Config, 'mode' | 'receipts' | 'x402' | 'mpp' | 'retired' | 'game'>

export type LoadedConfig =
  | {
      readonly mode: 'sandbox'
      readonly common: CommonConfig
      readonly protocols: Protocols
      /** A studio may try its own backend against the play-money world. */
      readonly backend: GameConfig['backend']
    }
  | { readonly mode: 'production'; readonly config: Config }

/** Before anything else is known to be right: whoever reads what is wrong is a machine then. */
export function meansProduction(env: Environment): boolean {
  return env['SUTLER_MODE'] === 'production'
}

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
  // For the commands of the people who run the shop.
  read.skip('SUTLER_TOKEN', 'SUTLER_TOKEN_FILE')
  read.skip('SUTLER_SIGNER_URL', 'SUTLER_SIGNER_TOKEN', 'SUTLER_SIGNER_TOKEN_FILE')
  read.refuseUnknown('SUTLER_', productionOptions(env, protocols, common.http))
  if (read.issues.length > 0) throw new ConfigFault(read.issues)
  return withSettings(loaded, settingsOf(env, read.known))
}

function withSettings(loaded: LoadedConfig, settings: Config['settings']): LoadedConfig {
  return loaded.mode === 'sandbox'
    ? { ...loaded, common: { ...loaded.common, settings } }
    : { ...loaded, config: { ...loaded.config, settings } }
}

function readCommon(read: OptionReader, mode: 'sandbox' | 'production'): CommonConfig {
  const dataDir = read.text('SUTLER_DATA_DIR', './data')
  const url = read.optionalSecret('DATABASE_URL')
  if (url !== undefined && !/^postgres(ql)?:\/\//.test(url))
    read.fault('DATABASE_URL', 'must start with postgres://', null)
  const operatorToken =
    mode === 'production'
      ? readOperatorToken(read)
      : new Secret(read.text('SUTLER_OPERATOR_TOKEN', SANDBOX_OPERATOR_TOKEN))
  return {
    http: readHttp(read, mode),
    operatorToken,
    operators: readOperators(read, { token: operatorToken, mode }),
    store: {
      url,
      dataDir,
      poolSize: read.integer('SUTLER_DB_POOL', 10, { min: 1, max: 200 }),
      migrate: read.choice('SUTLER_DB_MIGRATE', ['auto', 'check'], 'auto'),
      standby: read.choice('SUTLER_STANDBY', ['none', 'synchronous'], 'none'),
    },
    logLevel: read.choice('SUTLER_LOG', ['debug', 'info', 'warn', 'error'], mode === 'sandbox' ? 'warn' : 'info'),
    limits: readLimits(read),
    service: readService(read),
    operations: readOperations(read, mode),
    blockedPayers: readBlockedPayers(read),
    notSold: readNotSold(read),
    settings: [],
  }
}

/** The options that switch off a rail or a surface, in words. */
export const SWITCHES = ['SUTLER_X402', 'SUTLER_MPP', ...surfaceNames.map(surfaceOption)]
  .join(', ')
  .replace(/, (\w+)$/, ' or $1')
/** The options that say where a shop is reached, in words. */
export const ADDRESS_OPTIONS = 'SUTLER_BASE_URL and SUTLER_X402_BASE_URL'

function readNotSold(read: OptionReader): ReadonlySet<string> {
  const off = surfaceNames.filter((surface) => !read.flag(surfaceOption(surface), true))
  if (off.length === surfaceNames.length)
    read.fault(surfaceOption(surfaceNames[0]), 'all surfaces are switched off; nothing could be sold', null)
  return new Set(off)
}

/** A mistyped address would block nobody, and nobody would notice. */
function readBlockedPayers(read: OptionReader): ReadonlySet<string> {
  const option = 'SUTLER_BLOCKED_PAYERS'
  const payers = list(read.text(option, ''))
  for (const payer of payers) if (!isAddress(payer)) read.fault(option, `${payer} is not an address`, null)
  return new Set(payers.map((payer) => payer.toLowerCase()))
}

function readOperations(read: OptionReader, mode: 'sandbox' | 'production'): OperationsConfig {
  const seconds = { min: 0, max: 30 * 86_400 }
  return {
    webhookLoopback: read.flag('SUTLER_WEBHOOK_LOOPBACK', false),
    drainSeconds: read.integer('SUTLER_DRAIN_SECONDS', mode === 'sandbox' ? 0 : 5, { min: 0, max: 60 }),
    reconcileSeconds: read.integer('SUTLER_RECONCILE_SECONDS', 60, { min: 1, max: 300 }),
    unmatched: read.choice('SUTLER_UNMATCHED', ['return', 'hold'], 'return'),
    returnAfterSeconds: read.integer('SUTLER_RETURN_AFTER_SECONDS', 3_600, seconds),
    gasLowWei: read.bigint('SUTLER_GAS_LOW_WEI', 2_000_000_000_000_000n),
    treasuryLow: readUsd(read, 'SUTLER_TREASURY_LOW', '10.00'),
    secondOpinionFrom: readSecondOpinion(read),
    keepMs: read.integer('SUTLER_KEEP_DAYS', 400, { min: 7, max: 36_500 }) * 86_400_000,
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
    isForThisMachine: mode === 'sandbox' || /^(localhost|::1|127\..*)$/.test(host),
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
    gasPerHour: BigInt(
      read.integer('SUTLER_GAS_PER_HOUR', Number(defaultLimits.gasPerHour), { min: 0, max: 10 ** 12 }),
    ),
    refundsPerDay: readUsd(read, 'SUTLER_REFUNDS_PER_DAY', '1000.00'),
    receiverRefundPercent: read.integer('SUTLER_RECEIVER_REFUND_SHARE', defaultLimits.receiverRefundPercent, {
      min: 0,
      max: 100,
    }),
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
  protocols: Protocols,
  http: HttpConfig,
): Pick<Config, 'receipts' | 'x402' | 'mpp' | 'retired' | 'game'> {
  return { receipts: readReceipts(read), ...readRails(read, protocols, http), game: readGame(read) }
}

function readGame(read: OptionReader): GameConfig {
  const chainId = read.integer('SUTLER_GAME_CHAIN_ID', 8453, { min: 1, max: Number.MAX_SAFE_INTEGER })
  const hasSale = read.optional('SUTLER_SALE_CONTRACT') !== undefined
  const hasCraft = read.optional('SUTLER_CRAFT_CONTROLLER') !== undefined
  // Keys may be there before the contracts are.
  if (!hasSale) read.skip('SUTLER_MINTER_KEY', 'SUTLER_MINTER_KEY_FILE', 'SUTLER_SALE_IDS')
  if (!hasCraft) read.skip('SUTLER_CRAFTER_KEY', 'SUTLER_CRAFTER_KEY_FILE')
  return {
    examples: { itemId: 'ITEM_ID', nickname: PLACEHOLDER_NICKNAME },
    chain: readGameChain(read, chainId),
    sale: hasSale ? readSale(read) : null,
    craft: hasCraft
      ? {
          controller: read.address('SUTLER_CRAFT_CONTROLLER', 'the craft controller'),
          crafterKey: read.signingKey('SUTLER_CRAFTER_KEY', "the key with the controller's operator role"),
          defaultAmount: read.bigint('SUTLER_CRAFT_DEFAULT_AMOUNT', 10n ** 18n),
          maxAmount: read.bigint('SUTLER_CRAFT_MAX_AMOUNT', 1000n * 10n ** 18n),
        }
      : null,
    backend: readBackend(read),
  }
}

export function readGameChain(read: OptionReader, chainId: number): ChainConfig {
  const what = "RPC addresses of the game's chain, separated by commas"
  return readChain(read, { prefix: 'SUTLER_GAME', chainId, what, paysGasInCoin: true })
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

function readSale(read: OptionReader): SaleConfig {
  const named = read.optional('SUTLER_SALE_IDS')
  const saleIds = named === undefined ? null : list(named).map((id) => readSaleId(read, id))
  return {
    contract: read.address('SUTLER_SALE_CONTRACT', 'the sale contract'),
    saleIds,
    exampleSaleId: saleIds?.[0] ?? 1,
    minterKey: read.signingKey('SUTLER_MINTER_KEY', 'the key with the minter role'),
  }
}

function readSaleId(read: OptionReader, id: string): number {
  return /^\d{1,15}$/.test(id) ? Number(id) : read.fault('SUTLER_SALE_IDS', `${id} is not a sale id`, 0)
}

/** The names that production would read, for a sandbox that was given some of them. */
function productionOptions(env: Environment, protocols: Protocols, http: HttpConfig): ReadonlySet<string> {
  const scratch = optionReader(env)
  readProduction(scratch, protocols, http)
  return scratch.known
}

/** One leaked key must not open two doors (K-02). */
function refuseSharedKeys(read: OptionReader, loaded: LoadedConfig): void {
  if (loaded.mode !== 'production') return
  const { x402, mpp, game } = loaded.config
  const keys: [string, ChainKey | undefined][] = [
    ['SUTLER_X402_SETTLER_KEY', x402?.facilitator.kind === 'inproc' ? x402.facilitator.settlerKey : undefined],
    ['SUTLER_X402_TREASURY_KEY', x402?.treasuryKey],
    ['SUTLER_MPP_TREASURY_KEY', mpp?.treasuryKey],
    ['SUTLER_MINTER_KEY', game.sale?.minterKey],
    ['SUTLER_CRAFTER_KEY', game.craft?.crafterKey],
  ]
  const seen = new Map<string, string>()
  for (const [option, key] of keys) {
    const value = (key instanceof Secret ? key.reveal() : key?.address)?.toLowerCase()
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
