import type { Hash } from '../../src/base/address.ts'
import type { Hex } from '../../src/base/hex.ts'
import { Secret } from '../../src/base/secret.ts'
import { TRANSFER } from '../../src/chain/eip3009.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { countOther } from './coverage.ts'
import type { ChainName, Fault } from './faults.ts'
import { word } from './goods.ts'
import { reorganise } from './reorganisation.ts'
import { rotate } from './rotation.ts'
import { START_MS } from './scheduler.ts'
import type { Universe } from './universe.ts'

type Reorg = Extract<Fault, { kind: 'reorg' }>

/** What happens to the chains at a moment of the plan, and to nobody in particular. */
export function startWeather(universe: Universe): void {
  const { sim, plan, coverage } = universe
  for (const [index, fault] of plan.entries()) {
    if (fault.kind === 'change' && fault.what === 'restore') backUpBefore(universe, fault)
    const deed = deedOf(universe, fault)
    if (!deed) continue
    const actor = sim.actor(`sky${index}`)
    void (async () => {
      await sim.clockOf(actor).sleep(deed.atMs)
      await sim.point(actor, deed.name)
      if (universe.isHealing()) return
      sim.tell(`!! ${deed.name}`)
      countOther(coverage, deed.name)
      await sim.work(deed.run)
    })()
  }
}

/** Nobody restores a store that had not been opened yet: a new one begins to read at the newest block. */
const FIRST_BACKUP_MS = 2_500

function backUpBefore({ sim, store }: Universe, { atMs, ageMs }: Extract<Fault, { kind: 'change' }>): void {
  void sim
    .clockOf(sim.actor('backups'))
    .sleep(Math.max(FIRST_BACKUP_MS, atMs - ageMs))
    .then(() => sim.work(store.backUp))
}

type Deed = { readonly atMs: number; readonly name: string; run(): Promise<unknown> }

function deedOf(universe: Universe, fault: Fault): Deed | null {
  const { world } = universe
  switch (fault.kind) {
    case 'reorg':
      return { atMs: fault.atMs, name: `reorg ${fault.chain} drop ${fault.drop}`, run: () => reorg(universe, fault) }
    case 'dropPool': {
      const run = () => world[fault.chain].ask({ method: 'dev_dropPool' })
      return { atMs: fault.atMs, name: `pool of ${fault.chain} forgotten`, run }
    }
    case 'send': {
      const run = () => world.native.ask({ method: 'dev_fault', params: [{ kind: fault.how }] })
      return { atMs: fault.atMs, name: `the next transaction: ${fault.how}`, run }
    }
    case 'clock':
      return { atMs: fault.fromMs, name: 'a clock jumps', run: () => jump(universe, fault) }
    case 'change':
      return {
        atMs: FIRST_BACKUP_MS + 500 + fault.atMs,
        name: `all stop: ${fault.what}`,
        run: () => change(universe, fault),
      }
    case 'fork':
      return {
        atMs: fault.fromMs,
        name: `fork of ${fault.chain}${fault.wins ? ' that stays' : ''}`,
        run: () => fork(universe, fault),
      }
    case 'fees':
      return { atMs: fault.fromMs, name: 'fees rise', run: () => spike(universe, fault) }
    default:
      return null
  }
}

async function spike({ world, sim }: Universe, { times, forMs }: Extract<Fault, { kind: 'fees' }>): Promise<void> {
  const { native } = world
  const { baseFeePerGas: before } = (await native.ask({
    method: 'eth_getBlockByNumber',
    params: ['latest', false],
  })) as { readonly baseFeePerGas: Hex }
  const set = (fee: bigint) => native.ask({ method: 'dev_setBaseFee', params: [`0x${fee.toString(16)}`] })
  await set(BigInt(before) * BigInt(times))
  const actor = sim.actor('fees')
  void sim
    .clockOf(actor)
    .sleep(forMs)
    .then(() => sim.work(() => set(BigInt(before))))
}

async function jump({ sim, fleet }: Universe, { replica, offMs, forMs }: Extract<Fault, { kind: 'clock' }>) {
  fleet.setClock(replica, offMs)
  void sim
    .clockOf(sim.actor('clocks'))
    .sleep(forMs)
    .then(() => fleet.setClock(replica, 0))
}

async function change(universe: Universe, { what }: Extract<Fault, { kind: 'change' }>): Promise<void> {
  const { fleet, store, game } = universe
  const config = fleet.config()
  const { x402, mpp, retired } = config
  switch (what) {
    case 'retire x402':
      // A shop keeps one way to be paid.
      if (!x402 || !mpp) return
      return fleet.restart({ config: { ...config, x402: null, retired: [...retired, { rail: 'x402', config: x402 }] } })
    case 'retire mpp':
      if (!x402 || !mpp) return
      return fleet.restart({ config: { ...config, mpp: null, retired: [...retired, { rail: 'mpp', config: mpp }] } })
    case 'rotate secret': {
      if (!mpp) return
      const secrets = [new Secret('the secret that comes after the first of this universe'), ...mpp.secrets] as const
      return fleet.restart({ config: { ...config, mpp: { ...mpp, secrets } } })
    }
    case 'rotate minter':
    case 'rotate treasury':
      // Not waited for: somebody waits in it until nothing is open.
      return void rotate(universe, what === 'rotate minter' ? 'minter' : 'treasury')
    case 'restore':
      // A game of the shop's own would be taken back with its books, and with it what players were given.
      if (game && universe.restore()) fleet.restart({ run: () => store.restore(universe.sim.now()) })
  }
}

type Fork = Extract<Fault, { kind: 'fork' }>

/** Two branches for a while. In the end one node gives its own up, or all others theirs. */
async function fork(universe: Universe, { chain, node, wins, drop, forMs }: Fork): Promise<void> {
  const { world, sim } = universe
  const ask = async () => Number(await world[chain].ask({ method: 'eth_blockNumber' }))
  const forkedAt = await ask()
  const end = universe.fork(world[chain].chainId, node, forkedAt)
  void sim
    .clockOf(sim.actor('forks'))
    .sleep(forMs)
    .then(() =>
      sim.work(async () => {
        end()
        if (wins && !universe.isHealing()) await reorg(universe, { chain, drop, depth: (await ask()) - forkedAt })
      }),
    )
}

async function reorg(
  universe: Universe,
  { chain, depth, drop }: Pick<Reorg, 'chain' | 'depth' | 'drop'>,
): Promise<void> {
  const { world, sim } = universe
  const blocks = Math.floor((sim.now() - START_MS) / world[chain].blockMs)
  // The world before the universe is never undone.
  const deep = Math.min(depth, blocks)
  if (deep < 1) return
  const dropped = drop === 'nothing' ? [] : await transactionsOf(world, chain, drop, deep)
  sim.note(`${deep} blocks of ${chain} are made anew, without ${dropped.length} transactions`)
  await reorganise(universe, { chain, depth: deep, drop: dropped })
}

/** Of the newest blocks, those that carry what is dropped. */
async function transactionsOf(
  world: Universe['world'],
  chain: ChainName,
  kind: 'payments' | 'deliveries' | 'refunds',
  depth: number,
): Promise<readonly Hash[]> {
  const { config } = world
  const money = chain === 'native' ? config.x402!.asset : config.mpp!.currency.address
  const till = chain === 'native' ? config.x402!.payTo : config.mpp!.recipient
  const head = Number(await world[chain].ask({ method: 'eth_blockNumber' }))
  const filters = {
    payments: { address: money, topics: [TRANSFER, null, word(till)] },
    refunds: { address: money, topics: [TRANSFER, word(demoAddressOf('treasury'))] },
    deliveries: { address: config.game.sale!.contract, topics: [TRANSFER] },
  }
  const found = await world[chain].logs(filters[kind])
  return found
    .filter(({ blockNumber }) => Number(blockNumber) > head - depth)
    .map(({ transactionHash }) => transactionHash)
}
