import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { IS_PACKED, TESTED_WITH } from '../base/version.ts'
import { mcpBaseUrl } from '../config/config.ts'
import { sandboxKey } from '../config/published.ts'
import { enterUrl } from '../domain/operator.ts'
import { sellingAccounts } from '../rails/kind.ts'
import { rails } from '../rails/rails.ts'
import { demoAddressOf, type World } from './world.ts'

/** What somebody who starts the sandbox wants to know: where everything is, and a line to buy with for each way to buy. */
export type Banner = {
  readonly facts: readonly (readonly [what: string, value: string])[]
  readonly purchases: readonly (readonly [how: string, line: string])[]
}

const root = join(import.meta.dirname, '../..')

/** The lines work as they are when they are copied to another terminal in the folder `from`; a test does so. */
export function sandboxBanner({ config, chains }: World, from: string): Banner {
  const { baseUrl, host } = config.http
  const mcpUrl = `${mcpBaseUrl(config.http)}/mcp`
  const key = sandboxKey('demo').reveal()
  const rpcUrl = (chainId: number) => `${baseUrl}/sandbox/rpc/${chainId}`
  const facts: (readonly [string, string])[] = [
    ['Catalog', `${baseUrl}/catalog`],
    ['Contract', `${baseUrl}/openapi.json`],
    ...(config.operators.console ? [['Console', enterUrl(baseUrl, 'sandbox')] as const] : []),
    ['MCP', mcpUrl],
    ['Sandbox', `${baseUrl}/sandbox   (keys, players, chains, magic values)`],
    ['Faucet', `POST ${baseUrl}/sandbox/faucet {"address":"0x…"}`],
    ['RPC', `${rpcUrl(chains.native.chainId)}  and  ${rpcUrl(chains.tempo.chainId)}`],
    ['Operator', `Authorization: Bearer ${config.operatorToken?.reveal()}`],
    ['Data', `${config.store.dataDir}   (remove the folder to begin anew)`],
    ['Demo key', key],
    ['', `${demoAddressOf('demo')}, player Demo, with play money on both rails`],
  ]
  const isOpen = !['127.0.0.1', 'localhost', '::1'].includes(host)
  if (isOpen) facts.push(['Mind', `it listens on ${host}: everybody who reaches this machine has these keys`])
  const example = (name: string) => {
    const file = IS_PACKED ? join('dist/examples', `${name}.js`) : join('examples', `${name}.ts`)
    return `${programFrom(from, 'node')} ${join(relative(from, root), file)}`
  }
  const program = (name: string) => programFrom(from, name)
  const sandbox = { http: config.http, mcpUrl, key, rpcUrl, program, example, mcpClient: mcpClient() }
  return { facts, purchases: sellingAccounts(rails, config).flatMap((account) => account.trials?.(sandbox) ?? []) }
}

/** `npx` finds the pinned Node and stock clients where they were installed; elsewhere they are named by their path. */
function programFrom(from: string, name: string): string {
  const path = join('node_modules/.bin', name)
  const place = nearest(path) ?? root
  return relative(from, place) === '' ? `npx ${name}` : join(relative(from, place), path)
}

const MCP_CLIENT = '@modelcontextprotocol/client'

/** The shop does not need the official client, so it is missing where only the shop was installed. */
function mcpClient(): string {
  if (nearest(join('node_modules', MCP_CLIENT)) !== null) return ''
  return `npm install --no-save ${MCP_CLIENT}@${TESTED_WITH[MCP_CLIENT]} && `
}

/** The folder that has this, from ours upwards: npm puts packages beside us or inside us. */
function nearest(path: string): string | null {
  for (let folder = root; ; folder = dirname(folder)) {
    if (existsSync(join(folder, path))) return folder
    if (folder === dirname(folder)) return null
  }
}
