import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { encodeFunctionData } from 'viem'
import { generatePrivateKey } from 'viem/accounts'
import { burnableCollection } from '../../src/artifacts/BurnableCollection.ts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { Secret } from '../../src/base/secret.ts'
import { initCode } from '../../src/chain/act.ts'
import { mppNetworks, x402Networks } from '../../src/config/networks.ts'
import type { DevChain } from '../../src/devchain/chain.ts'
import type { DevChains } from '../../src/devchain/chains.ts'
import { addressOfAct, createDeployer, type Deployer } from '../../src/sandbox/deployer.ts'
import { root } from '../cli/sutler.ts'
import { type Child, startChild } from '../support/child.ts'
import { freePort } from '../support/free-port.ts'

export const USDC = x402Networks['base-sepolia']!.asset
export const PATH_USD = mppNetworks['tempo-moderato']!.currency.address

/** The world that a shop opens into: chains in a process of their own, with money, and nothing of ours on them. */
export type Networks = {
  readonly chains: DevChains
  /** As `sutler init --rpc` takes them: two providers for each network. */
  readonly nodes: string
  stop(): Promise<void>
}

/**
 * Empty blocks too, as public networks make them: so the shop runs with the limits that it has for these. With more of them the agents would
 * only buy more while a command runs.
 */
const BLOCK_MS = 1000

export async function startNetworks(): Promise<Networks> {
  const port = await freePort()
  const process = startChild(join(root, 'src/devchain/main.ts'), [
    '--port',
    String(port),
    '--block-time',
    String(BLOCK_MS),
  ])
  const url = await firstUrl(process)
  const second = await forward(port)
  const on = (chainId: number, network: string) => [url, second.url].map((base) => `${network}=${base}/${chainId}`)
  const [native, tempo] = [84532, 42431].map((chainId) => remoteChain(`${url}/${chainId}`, chainId))
  return {
    chains: { native: native!, tempo: tempo!, close: async () => {} },
    nodes: [...on(84532, 'base-sepolia'), ...on(42431, 'tempo-moderato')].join(),
    async stop() {
      second.close()
      await process.kill('SIGTERM')
    },
  }
}

async function firstUrl(process: Child): Promise<string> {
  const lines = [await process.line(), await process.line()]
  const url = /at (http:\/\/\S+)\/\d+$/.exec(lines[0] ?? '')?.[1]
  if (url === undefined) throw new Error(`the networks did not start: ${lines.join()}`)
  return url
}

/** The second provider: another address of the same chain. */
async function forward(port: number): Promise<{ readonly url: string; close(): void }> {
  const server = createServer((socket) => {
    const onward = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [socket, onward],
      [onward, socket],
    ] as const)
      from.on('error', () => to.destroy()).pipe(to)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => void server.close() }
}

/** A chain that is asked over HTTP, as anybody would. */
function remoteChain(url: string, chainId: number): DevChain {
  let id = 0
  return {
    chainId,
    async request({ method, params = [] }) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: ++id, method, params }),
      })
      const { result, error } = (await response.json()) as { result?: unknown; error?: { message: string } }
      if (error) throw Object.assign(new Error(error.message), error)
      return result
    },
    close: async () => {},
  }
}

/** The game has a collection of its own, long before there is a shop. */
export type Game = { readonly collection: Address; mint(to: Address): Promise<string> }

export async function startGame({ native }: DevChains): Promise<Game> {
  const studio = createDeployer(native, new Secret(generatePrivateKey()))
  await studio.found([
    { data: initCode(burnableCollection, ['Relics', 'RELIC', 'https://game.test/', studio.address]) },
  ])
  const collection = addressOfAct(studio.address, 0)
  return { collection, mint: (to) => mintNft(native, studio, collection, to) }
}

async function mintNft(chain: DevChain, studio: Deployer, collection: Address, to: Address): Promise<string> {
  const data = encodeFunctionData({ abi: burnableCollection.abi, functionName: 'mint', args: [to, 1n] })
  const hash = await studio.act({ to: collection, data })
  const { logs } = (await chain.request({ method: 'eth_getTransactionReceipt', params: [hash] })) as {
    logs: { topics: Hex[] }[]
  }
  return BigInt(logs[0]!.topics[3]!).toString()
}
