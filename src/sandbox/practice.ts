import { parseAbi } from 'viem/utils'
import * as z from 'zod'
import type { Address } from '../base/address.ts'
import type { Hex } from '../base/hex.ts'
import { formatUsd, usd } from '../base/money.ts'
import { Problem } from '../base/problem.ts'
import { invocation } from '../chain/act.ts'
import type { SandboxRole } from '../config/published.ts'
import { sandboxDollars } from '../config/sandbox.ts'
import type { DevChain } from '../devchain/chain.ts'
import { free, type Route } from '../domain/route.ts'
import { demoAddressOf, giveGas, type World } from './world.ts'

// A bad day, on purpose: an operator takes a chain away, empties a wallet or sends money without an order, and sees what the shop makes of it.

/** The same chain as the shop sees it: while it is away, nothing answers. The faucet and wallets outside still reach it. */
export function withOutages(chain: DevChain, outages: ReadonlySet<number>): Pick<DevChain, 'request'> {
  return {
    request(request) {
      if (outages.has(chain.chainId))
        return Promise.reject(new Error(`chain ${chain.chainId} does not answer: it was taken down for practice`))
      return chain.request(request)
    },
  }
}

const ETHER = 10n ** 18n
const ORPHANED_AMOUNT = usd(3_210_000n)
const payers = ['settler', 'treasury', 'minter', 'crafter'] as const satisfies readonly SandboxRole[]
const tokenAbi = parseAbi(['function transfer(address to, uint256 amount) returns (bool)'])

export function practiceRoutes(world: World): readonly Route[] {
  return [
    free('GET /sandbox/practice', {
      host: 'both',
      summary: 'What was made to go wrong: chains that are down, wallets and what gas they have',
      handle: async () => ({ body: await describe(world) }),
    }),
    free('POST /sandbox/practice', {
      host: 'both',
      summary: 'Make something go wrong, or right again',
      body: z.discriminatedUnion('deed', [
        z.strictObject({ deed: z.enum(['chain_down', 'chain_up']), chainId: z.int() }),
        z.strictObject({ deed: z.enum(['empty_wallet', 'fill_wallet']), role: z.enum(payers) }),
        z.strictObject({ deed: z.literal('stray_money') }),
      ]),
      handle: async ({ body }) => {
        switch (body.deed) {
          case 'chain_down':
          case 'chain_up':
            switchChain(world, body.chainId, body.deed === 'chain_down')
            break
          case 'empty_wallet':
            await setGas(world, demoAddressOf(body.role), 0n)
            break
          case 'fill_wallet':
            await giveGas(world.chains.native, demoAddressOf(body.role), 100n * ETHER)
            break
          case 'stray_money':
            await payWithoutOrder(world)
        }
        return { body: await describe(world) }
      },
    }),
  ]
}

function switchChain({ chains, outages }: World, chainId: number, isDown: boolean): void {
  if (![chains.native, chains.tempo].some((chain) => chain.chainId === chainId))
    throw new Problem('invalid_request', `There is no chain ${chainId} here; see GET /sandbox/practice.`)
  if (isDown) outages.add(chainId)
  else outages.delete(chainId)
}

async function setGas({ chains }: World, address: Address, wei: bigint): Promise<void> {
  await chains.native.request({ method: 'dev_setBalance', params: [address, `0x${wei.toString(16)}`] })
}

/** Dollars that reach the till and pay for nothing. */
async function payWithoutOrder({ chains, deployer }: World): Promise<void> {
  const token = sandboxDollars.native
  await chains.native.request({
    method: 'dev_mintToken',
    params: [token, deployer.address, `0x${ORPHANED_AMOUNT.toString(16)}`],
  })
  await deployer.act(invocation(token, tokenAbi, 'transfer', [demoAddressOf('till'), ORPHANED_AMOUNT]))
}

async function describe({ chains, outages }: World) {
  const wallets = await Promise.all(
    payers.map(async (role) => {
      const address = demoAddressOf(role)
      const wei = BigInt(
        (await chains.native.request({ method: 'eth_getBalance', params: [address, 'latest'] })) as Hex,
      )
      return { role, address, gas: formatUsd(usd(wei / 10n ** 12n)) }
    }),
  )
  return {
    chains: [chains.native, chains.tempo].map(({ chainId }) => ({ chainId, isDown: outages.has(chainId) })),
    wallets,
    stray: formatUsd(ORPHANED_AMOUNT),
  }
}
