import { encodeFunctionData, erc20Abi } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import type { Config } from '../../src/config/config.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { statement } from '../../src/store/statement.ts'
import { signTempo } from '../devchain/tempo-signing.ts'
import { LAG_BLOCKS_MAX } from './faults.ts'
import { treasuries } from './keys.ts'
import type { SimStore } from './store.ts'
import { balanceOf, mintTo } from './wallet.ts'
import type { SimWorld } from './world.ts'

/** A shop that can promise little. */
export type Bounds = {
  readonly openOrdersPerPayer: number
  /** What the treasury has on each chain, in atomic units. */
  readonly float: bigint
}

const OPENED = statement<{ id: string; network: string; promises: number; owed: string }>(`
  select o.id, o.network,
    (select count(*)::int from orders p
     where p.payer = o.payer and p.network = o.network and p.status = 'settling' and p.funds = 'authorized') as promises,
    (select coalesce(sum(p.amount), 0)::text from orders p
     where p.network = o.network and p.asset = o.asset
       and p.status in ('settling', 'settled', 'submitted', 'failed', 'refunding')
       and (p.status <> 'settling' or p.funds = 'captured' or p.plan is not null)
       and (p.funds = 'authorized' or p.created_at <= o.created_at)) as owed
  from orders o
  where o.funds = 'authorized' and not (o.id = any ($1::text[]))`)

export type ExposureWatch = {
  look(): Promise<void>
  /** The treasuries get so much more. */
  raise(by: bigint): void
  readonly found: readonly string[]
}

/**
 * Looks at every order at the moment at which it was opened: how much is open then, and how much could have to go back. A treasury only
 * pays out, so what it had at the beginning, and got since, is the most that anybody may ever have reckoned with. Money that its payer
 * moved is here already and cannot be refused, so it counts, but is not counted against the bound.
 */
export function watchExposure(store: SimStore, { openOrdersPerPayer, float }: Bounds): ExposureWatch {
  const seen: string[] = []
  const found: string[] = []
  let most = float
  const say = (what: string) => void found.push(`more open than its bounds allow: ${what}`)
  return {
    found,
    raise(by) {
      most += by
    },
    async look() {
      const { rows } = await store.db.query(OPENED, [seen])
      for (const { id, network, promises, owed } of rows) {
        seen.push(id)
        if (promises > openOrdersPerPayer) say(`${promises} promises of one payer, and ${openOrdersPerPayer} may be`)
        if (BigInt(owed) > most) say(`${owed} could have to go back on ${network}, and there are ${most}`)
      }
    },
  }
}

/** Before anybody comes: all that the treasury has beyond this goes elsewhere. */
export async function setFloat(world: SimWorld, { float }: Bounds): Promise<void> {
  const { native, tempo } = world
  const key = sandboxKey('treasury').reveal() as Hex
  const account = privateKeyToAccount(key)
  const { asset } = world.config.x402!
  const token = world.config.mpp!.currency.address
  const away = world.contracts.sale
  const transfer = async (chain: typeof native, of: Address) => {
    const amount = (await balanceOf(chain, of, account.address)) - float
    return encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [away, amount] })
  }
  const nonce = Number(await native.ask({ method: 'eth_getTransactionCount', params: [account.address, 'latest'] }))
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: native.chainId,
    nonce,
    to: asset,
    data: await transfer(native, asset),
    gas: 200_000n,
    maxFeePerGas: 10n ** 12n,
    maxPriorityFeePerGas: 0n,
  })
  await native.ask({ method: 'eth_sendRawTransaction', params: [raw] })
  const spent = Number(await tempo.ask({ method: 'eth_getTransactionCount', params: [account.address, 'latest'] }))
  const paid = signTempo(key, { nonce: BigInt(spent), calls: [{ to: token, data: await transfer(tempo, token) }] })
  await tempo.ask({ method: 'eth_sendRawTransaction', params: [paid] })
  // Longer ago than any node is behind: nobody reckons with what was there before.
  for (let block = 0; block <= LAG_BLOCKS_MAX; block++) await Promise.all([native.mine(), tempo.mine()])
}

export const REFILL = 10n ** 10n

/** Somebody fills the treasuries again, so that whatever waits for money gets it. */
export async function refill({ native, tempo, config }: SimWorld): Promise<void> {
  const places = [
    [native, config.x402!.asset],
    [tempo, config.mpp!.currency.address],
  ] as const
  for (const [chain, token] of places) for (const treasury of treasuries) await mintTo(chain, token, treasury, REFILL)
}

export function withBounds(config: Config, { openOrdersPerPayer }: Bounds): Config {
  return { ...config, limits: { ...config.limits, openOrdersPerPayer } }
}
