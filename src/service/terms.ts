import type { Config, RetiredRail } from '../config/config.ts'
import type { Database } from '../store/db.ts'
import { listTerms, recordTerms, type ShopTerms } from '../store/shop-terms.ts'

/** What this shop has asked for, now and by earlier configurations. */
export async function recordedTerms(database: Database, { x402, mpp, retired }: Config): Promise<readonly ShopTerms[]> {
  const open: readonly RetiredRail[] = [
    ...(x402 ? [{ rail: 'x402' as const, config: x402 }] : []),
    ...(mpp ? [{ rail: 'mpp' as const, config: mpp }] : []),
  ]
  for (const one of [...retired, ...open]) await recordTerms(database, termsOf(one))
  return listTerms(database)
}

function termsOf({ rail, config }: RetiredRail): ShopTerms {
  if (rail === 'x402') return { rail, ...config, realm: null }
  const { network, realm, recipient: payTo, currency } = config
  return { rail, network, realm, payTo, asset: currency.address, currency: currency.code }
}
