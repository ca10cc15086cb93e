import { isoTime } from '../../base/clock.ts'
import type { JsonObject } from '../../base/json.ts'
import { formatUsd, usd } from '../../base/money.ts'
import type { KeptWallet } from '../../store/wallets.ts'
import { type OperatorRoute, operator } from './route.ts'

type WalletDesk = {
  now(): number
  /** As they were last seen, from the store. */
  wallets(): Promise<readonly KeptWallet[]>
  /** What a wallet holds there: the coin that gas is paid in, or the token. */
  currencyOf(wallet: Pick<KeptWallet, 'chainId' | 'unit'>): string
}

const WEI = 10n ** 18n
const SHOWN = 10n ** 12n

/** Our wallets as they were when a replica could last see them. The chain is not asked here: it may be what is down. */
export function walletRows(desk: WalletDesk): readonly OperatorRoute[] {
  return [
    operator('GET /operator/wallets', {
      role: 'viewer',
      summary: 'What our wallets have, and what they may do on their chains',
      handle: async () => {
        const now = desk.now()
        const wallets = (await desk.wallets()).map((wallet) => presentWallet(wallet, desk.currencyOf(wallet)))
        return { body: { wallets, asOf: isoTime(now) } }
      },
    }),
  ]
}

function presentWallet(wallet: KeptWallet, currency: string): JsonObject {
  const { role, chainId, address, unit, amount, isLow, rights, readAt } = wallet
  const print = (units: bigint) => (unit === 'token' ? formatUsd(usd(units)) : formatCoin(units))
  return {
    role,
    chainId,
    address,
    what: unit === 'token' ? 'money' : 'gas',
    currency,
    balance: print(amount),
    isLow,
    roles: rights.map((right) => ({ ...right })),
    asOf: isoTime(readAt),
  }
}

/** Six decimals are enough to see gas go. */
function formatCoin(wei: bigint): string {
  return `${wei / WEI}.${((wei % WEI) / SHOWN).toString().padStart(6, '0')}`
}
