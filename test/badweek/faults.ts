import { encodeFunctionData, keccak256, parseAbi, toBytes, toHex } from 'viem'
import { saleLots } from '../../src/artifacts/SaleLots.ts'
import { testUsdc } from '../../src/artifacts/TestUsdc.ts'
import { invocation } from '../../src/chain/act.ts'
import { demoAddressOf } from '../../src/sandbox/world.ts'
import { sendFrom } from '../checkout/x402-wallet.ts'
import { fundedWallet } from '../support/buyers.ts'
import type { Wire } from './wire.ts'
import type { BadWorld } from './world.ts'

/** One thing that goes wrong, what an operator must be told of it, and what is done about it, if anything has to be. */
export type BadFault = {
  readonly name: string
  strike(world: BadWorld): unknown
  /** What has to be heard before it is mended: a word of health, log or event. */
  readonly hears: RegExp
  readonly mending: string
  mend(world: BadWorld): unknown
}

const BY_ITSELF = 'by itself'
const nobody = () => {}
const SUPERVISOR = 'the supervisor starts it'

function all(wires: readonly Wire[], what: 'cut' | 'drop' | 'mend'): void {
  for (const wire of wires) wire[what]()
}

const replicaFaults: readonly BadFault[] = [
  {
    name: 'kill -9 of a replica',
    strike: ({ replicas }) => replicas[0]!.kill(),
    hears: /replica 1 does not answer/,
    mending: SUPERVISOR,
    mend: ({ replicas }) => replicas[0]!.start(),
  },
  {
    name: 'a rolling restart of both replicas',
    async strike({ replicas }) {
      for (const replica of replicas) {
        await replica.stop()
        await replica.start()
      }
    },
    hears: /process|does not answer/,
    mending: BY_ITSELF,
    mend: nobody,
  },
  {
    name: 'a replica hangs (SIGSTOP)',
    strike: ({ replicas }) => replicas[0]!.freeze(),
    hears: /replica 1 does not answer/,
    mending: 'SIGCONT',
    mend: ({ replicas }) => replicas[0]!.thaw(),
  },
  {
    name: 'a replica is cut off from the database',
    strike: ({ replicas }) => all(replicas[0]!.wires, 'cut'),
    hears: /health store/,
    mending: 'the network is back',
    mend: ({ replicas }) => all(replicas[0]!.wires, 'mend'),
  },
  {
    name: 'kill -9 of both replicas at once',
    strike: ({ replicas }) => Promise.all(replicas.map((replica) => replica.kill())),
    hears: /replica 2 does not answer/,
    mending: SUPERVISOR,
    mend: ({ replicas }) => Promise.all(replicas.map((replica) => replica.start())),
  },
  {
    name: 'the proxy is killed',
    strike: ({ proxy }) => proxy.kill(),
    hears: /the proxy does not answer/,
    mending: SUPERVISOR,
    mend: ({ proxy }) => proxy.start(),
  },
]

const everyWire = ({ replicas }: BadWorld) => replicas.flatMap(({ wires }) => wires)

const databaseFaults: readonly BadFault[] = [
  {
    name: 'the database hangs (SIGSTOP)',
    strike: ({ cluster }) => cluster.primary.freeze(),
    hears: /health store/,
    mending: 'SIGCONT',
    mend: ({ cluster }) => cluster.primary.thaw(),
  },
  {
    name: 'packets to the database are dropped without a word',
    strike: (world) => all(everyWire(world), 'drop'),
    hears: /health store/,
    mending: 'the network is back',
    mend: (world) => all(everyWire(world), 'mend'),
  },
  {
    name: 'all connections to the database are ended by its administrator',
    strike: ({ cluster }) =>
      cluster.primary.run(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'sutler' and pid <> pg_backend_pid()`,
      ),
    hears: /idle database connection lost|store/,
    mending: BY_ITSELF,
    mend: nobody,
  },
  {
    name: 'the disk of the database is full',
    strike: ({ cluster }) => cluster.disk?.fill(),
    hears: /disk of the store is full|store_full/,
    mending: 'somebody makes room',
    mend: ({ cluster }) => cluster.disk?.free(),
  },
  {
    name: 'kill -9 of the database, which is started again',
    strike: ({ cluster }) => cluster.primary.kill(),
    hears: /health store/,
    mending: SUPERVISOR,
    mend: ({ cluster }) => cluster.primary.start(),
  },
  {
    name: 'the primary dies, its synchronous standby is promoted',
    async strike({ cluster }) {
      await cluster.synchronous()
      await cluster.primary.kill()
      await cluster.standby.promote()
    },
    hears: /failed over to a synchronous standby/,
    mending: BY_ITSELF,
    mend: ({ cluster }) => cluster.rejoin(),
  },
]

const cut = (...chains: readonly ('native' | 'tempo')[]) => ({
  strike: ({ nodes }: BadWorld) =>
    all(
      chains.flatMap((chain) => nodes[chain]),
      'cut',
    ),
  mend: ({ nodes }: BadWorld) =>
    all(
      chains.flatMap((chain) => nodes[chain]),
      'mend',
    ),
  mending: 'the nodes are back',
})

const chainFaults: readonly BadFault[] = [
  {
    name: 'one of two nodes of a chain is down',
    strike: ({ nodes }) => nodes.native[0].cut(),
    hears: /event node\.down/,
    mending: 'the node is back',
    mend: ({ nodes }) => nodes.native[0].mend(),
  },
  {
    name: 'a node takes connections and never answers',
    strike: ({ nodes }) => nodes.tempo[0].drop(),
    hears: /event node\.down/,
    mending: 'the node is back',
    mend: ({ nodes }) => nodes.tempo[0].mend(),
  },
  { name: 'all nodes of one chain are down', hears: /event rail\.paused/, ...cut('tempo') },
  { name: 'all nodes of both chains are down', hears: /event surface\.paused/, ...cut('native', 'tempo') },
]

const request = ({ chains }: BadWorld, method: string, ...params: unknown[]) =>
  chains.native.request({ method, params })
const empty = (role: 'minter' | 'settler') => (world: BadWorld) =>
  request(world, 'dev_setBalance', demoAddressOf(role), toHex(0n))
const refill = (role: 'minter' | 'settler') => (world: BadWorld) =>
  request(world, 'dev_setBalance', demoAddressOf(role), toHex(10n ** 20n))
const sale =
  (name: 'pause' | 'unpause') =>
  ({ world }: BadWorld) =>
    world.deployer.act(invocation(world.contracts.sale, saleLots.abi, name, []))
const MINTER = keccak256(toBytes('MINTER_ROLE'))
const role =
  (name: 'grantRole' | 'revokeRole') =>
  ({ world }: BadWorld) =>
    world.deployer.act(invocation(world.contracts.sale, saleLots.abi, name, [MINTER, demoAddressOf('minter')]))
const token = (name: 'pause' | 'unpause') => (world: BadWorld) => {
  const { asset } = world.config.x402!
  return request(world, 'dev_systemCall', asset, invocation(asset, testUsdc.abi, name, []).data)
}

const shopFaults: readonly BadFault[] = [
  {
    name: 'the minter has no gas left',
    strike: empty('minter'),
    hears: /event (wallet\.low|surface\.paused)/,
    mending: 'gas is sent to it',
    mend: refill('minter'),
  },
  {
    name: 'the key that settles has no gas left',
    strike: empty('settler'),
    hears: /event (wallet\.low|rail\.paused)/,
    mending: 'gas is sent to it',
    mend: refill('settler'),
  },
  {
    name: 'the minter has lost its role',
    strike: role('revokeRole'),
    hears: /health surface sale/,
    mending: 'the owner grants it again',
    mend: role('grantRole'),
  },
  {
    name: 'the sale contract is paused',
    strike: sale('pause'),
    hears: /the sale contract is paused/,
    mending: 'the owner unpauses it',
    mend: sale('unpause'),
  },
  {
    name: 'the issuer pauses the token',
    strike: token('pause'),
    hears: /event rail\.paused/,
    mending: 'the issuer unpauses it',
    mend: token('unpause'),
  },
  {
    name: 'the game backend is down',
    strike: ({ studio }) => studio.hangUp(),
    hears: /event game\.down/,
    mending: 'it is back',
    mend: ({ studio }) => studio.listenAgain(),
  },
  {
    name: 'somebody sends money without buying anything',
    async strike(world) {
      const stranger = await fundedWallet(world)
      const { asset, payTo } = world.config.x402!
      const transfer = parseAbi(['function transfer(address to, uint256 amount)'])
      await sendFrom(
        world.chains.native,
        stranger,
        asset,
        encodeFunctionData({ abi: transfer, args: [payTo, 500_000n] }),
      )
    },
    hears: /money came without a purchase/,
    mending: `${BY_ITSELF}: it goes back`,
    mend: nobody,
  },
]

/** 24 of them, in the order in which they come. */
export const badFaults: readonly BadFault[] = [...replicaFaults, ...databaseFaults, ...chainFaults, ...shopFaults]
