import { readFileSync } from 'node:fs'
import type { Rail } from '../../domain/rail.ts'

const textOf = (name: string) => readFileSync(new URL(`../../../web/${name}`, import.meta.url), 'utf8')
const PAY = textOf('pay.js')
const SANDBOX = textOf('sandbox.js')

/** Buys from a page, by every protocol that a wallet of the browser can sign for. */
export function payScript(rails: readonly Rail[]): string {
  const signers = rails.map(({ documents }) => documents.walletScript ?? '')
  return `const SIGNERS = {}\n${signers.join('\n')}\n${PAY}`
}

export function sandboxScript(rails: readonly Rail[]): string {
  return payScript(rails) + SANDBOX
}
