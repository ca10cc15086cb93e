import { formatUsd, parseUsd, type Usd } from '../base/money.ts'
import type { ChainConfig, Config } from './config.ts'
import { BURIAL } from './networks.ts'
import type { OptionReader } from './options.ts'

type ChainOptions = {
  /** What the options of this chain begin with. */
  readonly prefix: string
  readonly chainId: number
  /** What the RPC addresses are of, for whoever left them out. */
  readonly what: string
  readonly paysGasInCoin: boolean
}

/** Where a chain is read and written. What travels without encryption can be changed on its way, and money moves by it. */
export function readChain(read: OptionReader, { prefix, chainId, what, paysGasInCoin }: ChainOptions): ChainConfig {
  const option = `${prefix}_RPC_URL`
  const rpcUrls = read
    .required(option, what)
    .split(',')
    .map((url) => url.trim())
    .filter((url) => url !== '')
  return {
    chainId,
    rpcUrls: rpcUrls.map((url) => read.url(option, url, { secure: true })),
    tipWei: read.bigint(`${prefix}_TIP_WEI`, 1_000_000n),
    burial: BURIAL,
    paysGasInCoin,
  }
}

const OPINION = 'SUTLER_SECOND_OPINION_FROM'
const OPINION_FROM = '100.00'

export function readSecondOpinion(read: OptionReader): Usd | null {
  const from = read.text(OPINION, OPINION_FROM)
  if (from === 'never') return null
  return /^\d+(\.\d{1,6})?$/.test(from)
    ? parseUsd(from)
    : read.fault(OPINION, 'must be an amount of dollars, such as 100.00, or never', parseUsd(OPINION_FROM))
}

/** A second opinion of the same provider is the first one again. */
export function refuseLoneNodes(read: OptionReader, { x402, mpp, operations }: Config): void {
  const { secondOpinionFrom } = operations
  if (secondOpinionFrom === null) return
  for (const [prefix, paid] of [
    ['SUTLER_X402', x402],
    ['SUTLER_MPP', mpp],
  ] as const) {
    const hosts = new Set(paid?.chain.rpcUrls.map(hostOf))
    if (!paid || hosts.size !== 1) continue
    const from = formatUsd(secondOpinionFrom)
    const fault = `leads to one host only, and payments of ${from} and more need two that show them`
    const either = 'add an address of another provider after a comma'
    read.fault(`${prefix}_RPC_URL`, `${fault}; ${either}, or set ${OPINION}=never to believe a single one`, null)
  }
}

/** On this machine every port is another node. */
function hostOf(url: string): string {
  if (!URL.canParse(url)) return url
  const { host, hostname } = new URL(url)
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname) ? host : hostname
}
