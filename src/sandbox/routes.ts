import * as z from 'zod'
import { isLocalOrigin } from '../base/own-names.ts'
import { Problem } from '../base/problem.ts'
import { type HttpConfig, publicUrls } from '../config/config.ts'
import { sandboxKey } from '../config/published.ts'
import { describeSandbox } from '../config/sandbox.ts'
import { answerRpc } from '../devchain/answer.ts'
import { addressField, nicknameField } from '../domain/fields.ts'
import { free, type Route } from '../domain/route.ts'
import { signWithDemoKey } from './demo-wallet.ts'
import { fund } from './faucet.ts'
import { magicValues } from './goods.ts'
import type { SandboxPlayers } from './players.ts'
import { practiceRoutes } from './practice.ts'
import { demoAddressOf, type World } from './world.ts'

const RPC_BYTES_MAX = 5_000_000
const CHALLENGE_BYTES_MAX = 200_000

/** Routes that exist only here: in any other mode they are unknown. */
export function sandboxRoutes(world: World, players: SandboxPlayers): readonly Route[] {
  const { config, chains, contracts } = world
  const rpcUrl = (chainId: number) => `${config.http.baseUrl}/sandbox/rpc/${chainId}`
  const routes = [
    free('GET /sandbox', {
      host: 'both',
      summary: 'Everything about this sandbox: chains, contracts, keys, players, magic values',
      handle: async () => ({
        body: {
          mode: 'sandbox',
          ...describeSandbox(config, rpcUrl),
          contracts: { ...contracts, collections: [...contracts.collections] },
          demo: { privateKey: sandboxKey('demo').reveal(), address: demoAddressOf('demo'), nickname: 'Demo' },
          players: (await players.list()).map((player) => ({ ...player })),
          operatorToken: config.operatorToken?.reveal() ?? null,
          magic: magicValues.map((value) => ({ ...value })),
        },
      }),
    }),
    ...[chains.native, chains.tempo].map((chain) =>
      free(`POST /sandbox/rpc/${chain.chainId}` as const, {
        host: 'both',
        summary: `JSON-RPC of the dev chain ${chain.chainId}`,
        bucket: null,
        bodyBytesMax: RPC_BYTES_MAX,
        handle: async ({ bytes }) => ({ body: await answerRpc(chain, Buffer.from(bytes).toString('utf8')) }),
      }),
    ),
    free('POST /sandbox/faucet', {
      host: 'both',
      summary: 'Give an address gas, USDC, pathUSD, craft tokens and three burnable NFTs',
      body: z.strictObject({ address: addressField }),
      handle: async ({ body }) => {
        const { funded, nfts } = await fund(world, body.address)
        return { body: { funded: { ...funded }, nfts: nfts.map((nft) => ({ ...nft })) } }
      },
    }),
    free('POST /sandbox/wallet', {
      host: 'both',
      summary: 'Have a 402 signed by the demo wallet; it sends nothing',
      body: z.strictObject({
        url: z.string().max(2_000),
        method: z.enum(['GET', 'POST']),
        body: z.string().optional(),
        challenge: z.strictObject({ headers: z.record(z.string(), z.string()), body: z.string() }),
      }),
      bodyBytesMax: CHALLENGE_BYTES_MAX,
      handle: async ({ body }) => ({ body: await signWithDemoKey(body, rpcUrl) }),
    }),
    ...practiceRoutes(world),
    free('POST /sandbox/players', {
      host: 'both',
      summary: 'Create a player linked to a wallet',
      body: z.strictObject({ nickname: nicknameField(config.limits.nicknameLengthMax), address: addressField }),
      handle: async ({ body }) => ({ body: await players.create(body) }),
    }),
  ]
  return routes.map((route) => forOwnPages(route, config.http))
}

/** Whoever can ask these is an operator and holds all keys, so a page from elsewhere gets nothing through its visitor's browser. */
export function forOwnPages(route: Route, http: HttpConfig): Route {
  if (route.kind !== 'free') return route
  const origins = new Set([...publicUrls(http).map((url) => new URL(url).origin), ...http.mcpOrigins])
  return {
    ...route,
    handle(call) {
      const origin = call.header('origin')
      if (origin !== undefined && !origins.has(origin) && !isLocalOrigin(origin))
        throw new Problem(
          'wrong_host',
          'A web page from elsewhere cannot use the sandbox. SUTLER_MCP_ORIGINS names those that can.',
        )
      return route.handle(call)
    },
  }
}
