import { encodeFunctionData } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { sandboxSaleLots } from '../../src/artifacts/SandboxSaleLots.ts'
import type { Address } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import type { Secret } from '../../src/base/secret.ts'
import { roleId } from '../../src/chain/act.ts'
import type { Config } from '../../src/config/config.ts'
import { sandboxKey } from '../../src/config/published.ts'
import { createWallet } from '../../src/outbox/wallet.ts'
import { openSendsOf } from '../../src/store/sends/open-sends.ts'
import type { SimChain } from './chain.ts'
import { countOther } from './coverage.ts'
import { nextKey, type RotatedRole } from './keys.ts'
import type { Universe } from './universe.ts'
import { balanceOf, mintTo } from './wallet.ts'

const TRIES_MAX = 120
const PAUSE_MS = 1_000
const GAS = 10n ** 20n
const SENDS_MAX = 4

/**
 * As docs/operating/people-and-access.md has it: wait until nothing is open that the old key has signed for, give the new one what it needs, replace one
 * replica after another, and take the role from the old key when nothing is open that it has signed for, again.
 */
export async function rotate(universe: Universe, role: RotatedRole): Promise<void> {
  const { sim, fleet, coverage } = universe
  const old = createWallet(sandboxKey(role)).address
  const key = nextKey(role)
  if (!(await isIdle(universe, old))) return countOther(coverage, `rotation of the ${role} refused`)
  sim.tell(`!! the ${role} has another key`)
  countOther(coverage, `rotation of the ${role}`)
  await sim.work(() => equip(universe, role, createWallet(key).address, old))
  fleet.roll(withKey(fleet.config(), role, key))
  if (role !== 'minter') return
  await sim.clockOf(sim.actor('owner')).sleep(30_000)
  if (await isIdle(universe, old))
    await sim.work(() => setMinter(universe.world.native, universe.config, 'revokeRole', old))
}

async function isIdle({ sim, store }: Universe, address: Address): Promise<boolean> {
  const clock = sim.clockOf(sim.actor('owner'))
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const { count } = await sim.work(() => openSendsOf(store.db, address))
    if (count === 0) return true
    await clock.sleep(PAUSE_MS)
  }
  return false
}

async function equip({ world, config }: Universe, role: RotatedRole, address: Address, old: Address): Promise<void> {
  const { native, tempo } = world
  await native.ask({ method: 'dev_setBalance', params: [address, `0x${GAS.toString(16)}`] })
  if (role === 'minter') return setMinter(native, config, 'grantRole', address)
  const { asset } = world.config.x402!
  const { currency } = world.config.mpp!
  for (const [chain, token] of [
    [native, asset],
    [tempo, currency.address],
  ] as const) {
    await mintTo(chain, token, address, await balanceOf(chain, token, old))
  }
}

/** Until it is so: a transaction of the owner may get lost like any other. */
async function setMinter(
  native: SimChain,
  { game }: Config,
  functionName: 'grantRole' | 'revokeRole',
  address: Address,
): Promise<void> {
  const owner = privateKeyToAccount(sandboxKey('deployer').reveal() as Hex)
  const to = game.sale!.contract
  const { abi } = sandboxSaleLots
  const args = [roleId('MINTER_ROLE'), address] as const
  const held = { to, data: encodeFunctionData({ abi, functionName: 'hasRole', args }) }
  const data = encodeFunctionData({ abi, functionName, args })
  const isMinter = async () =>
    BigInt((await native.ask({ method: 'eth_call', params: [held, 'latest'] })) as Hex) === 1n
  for (let tries = 0; tries < SENDS_MAX && (await isMinter()) !== (functionName === 'grantRole'); tries++) {
    const nonce = Number(await native.ask({ method: 'eth_getTransactionCount', params: [owner.address, 'latest'] }))
    const fees = { gas: 200_000n, maxFeePerGas: 10n ** BigInt(12 + tries), maxPriorityFeePerGas: 0n }
    const raw = await owner.signTransaction({ type: 'eip1559', chainId: native.chainId, nonce, to, data, ...fees })
    await native.ask({ method: 'eth_sendRawTransaction', params: [raw] }).catch(() => {})
    await native.mine()
  }
}

function withKey(config: Config, role: RotatedRole, key: Secret): Config {
  const { x402, mpp, game } = config
  if (role === 'minter') return { ...config, game: { ...game, sale: { ...game.sale!, minterKey: key } } }
  return {
    ...config,
    x402: x402 && { ...x402, treasuryKey: key },
    mpp: mpp && { ...mpp, treasuryKey: key },
    retired: config.retired.map((one) => ({ ...one, config: { ...one.config, treasuryKey: key } }) as typeof one),
  }
}
