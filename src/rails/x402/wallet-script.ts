import { readFileSync } from 'node:fs'

/** How a page pays with a wallet of the browser. */
export const walletScript = readFileSync(new URL('../../../web/wallet-x402.js', import.meta.url), 'utf8')
