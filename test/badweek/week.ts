// `npm run badweek`: two replicas, Caddy and PostgreSQL with a standby, 23 faults in a row under load from stock clients. Prints what the operator was
// told of each and when, which requests were lost, what became of the money, and how it healed. The table of docs/reliability.md is such a run.
//   npm run badweek -- [words of faults to take only these]
import { proxies } from '../proxy/proxies.ts'
import { clusterBinaries } from '../support/cluster.ts'
import { until } from '../support/until.ts'
import { heldMoney, isCalm, judgeAll, nothingOpen, openDoors, type Purchase } from './customers.ts'
import { type BadFault, badFaults } from './faults.ts'
import { listen, type Told } from './told.ts'
import { type BadWorld, startBadWorld } from './world.ts'

/** After this long without the word that has to come, it was not told. */
const TOLD_MS_MAX = 90_000
const PURCHASES_PER_FAULT = 3

type Row = {
  readonly fault: BadFault
  readonly begun: number
  readonly told: readonly Told[]
  readonly wasTold: boolean
  readonly purchases: readonly Purchase[]
  readonly healedSeconds: number
  /** Payments that a person has to decide about since. */
  readonly held: number
}

type Watch = ReturnType<typeof listen>

async function main(words: readonly string[]): Promise<void> {
  if (clusterBinaries === null || !proxies[0]!.isInstalled)
    throw new Error('a bad week needs Caddy, and PostgreSQL with pg_basebackup: apt-get install caddy postgresql')
  const wanted = badFaults.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))
  const world = await startBadWorld()
  const watch = listen(world)
  const doors = openDoors(world)
  await until(() => watch.isWellSince(0))
  const rows: Row[] = []
  for (const fault of wanted) {
    rows.push(await play(world, fault, watch, doors.purchases))
    console.error(lineOf(rows.at(-1)!))
  }
  await doors.close()
  await nothingOpen(world)
  await watch.stop()
  const lines = await Promise.all(rows.map(async (row) => ({ row, verdict: await judgeAll(world, row.purchases) })))
  console.log(HEAD)
  for (const [n, { row, verdict }] of lines.entries()) {
    const until = rows[n + 1]?.begun ?? Number.POSITIVE_INFINITY
    const lost = doors.purchases.flatMap((one) => one.lost).filter(({ at }) => at >= row.begun && at < until)
    for (const words of new Set(lost.map(({ words }) => words))) console.error(`${row.fault.name}: ${words}`)
    const { fault, held, healedSeconds } = row
    const judged = `${lost.length} | ${held} | ${verdict.lost} | ${verdict.doubled}`
    console.log(`| ${n + 1} ${lineOf(row)} ${judged} | ${fault.mending} | ${healedSeconds.toFixed(1)} |`)
  }
  const isGood = lines.every(({ row, verdict }) => row.wasTold && verdict.lost === 0n && verdict.doubled === 0)
  await world.stop()
  process.exit(isGood ? 0 : 1)
}

async function play(world: BadWorld, fault: BadFault, watch: Watch, purchases: readonly Purchase[]): Promise<Row> {
  const first = purchases.length
  const heard = watch.told.length
  const heldBefore = await heldMoney(world)
  const begun = performance.now()
  await fault.strike(world)
  const isTold = () => watch.told.slice(heard).some(({ words }) => fault.hears.test(words))
  const isDone = (n: number) => purchases.slice(first).filter(({ outcome }) => outcome !== 'under way').length >= n
  await until(() => isTold() || performance.now() - begun > TOLD_MS_MAX)
  await fault.mend(world)
  const mended = performance.now()
  const sold = () =>
    purchases.slice(first).filter(({ outcome }) => outcome === 'bought' || outcome === 'repeated').length
  await until(() => watch.isWellSince(mended) && isDone(PURCHASES_PER_FAULT) && sold() > 0)
  const healedSeconds = (performance.now() - mended) / 1000
  // A trouble that comes back before it was told to be over is not told again: the next fault begins when none is open.
  await until(() => isCalm(world))
  return {
    fault,
    begun,
    told: firstOfEach(watch.told.slice(heard), begun, fault.hears),
    wasTold: isTold(),
    purchases: purchases.slice(first),
    healedSeconds,
    held: (await heldMoney(world)) - heldBefore,
  }
}

/** Of each kind of word the first that is about this, else the first, and when it was heard after the fault began. */
function firstOfEach(told: readonly Told[], begun: number, hears: RegExp): readonly Told[] {
  const kinds = Map.groupBy(told, ({ words }) => words.split(' ', 1)[0])
  return [...kinds.values()].map((all) => {
    const { words, at } = all.find(({ words }) => hears.test(words)) ?? all[0]!
    return { words, at: at - begun }
  })
}

const HEAD = `| # | Fault | Told, and after how many seconds | Bought | Refused before money | Calls lost | Held for a person | Money lost | Doubled | Mended | Well again, s |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |`

function lineOf({ fault, told, wasTold, purchases }: Row): string {
  const heard = told.map(({ words, at }) => `${words} (${Math.max(at / 1000, 0).toFixed(1)})`).join('; ')
  const count = (outcome: Purchase['outcome']) => purchases.filter((purchase) => purchase.outcome === outcome).length
  const bought = count('bought') + count('repeated')
  return `| ${fault.name} | ${wasTold ? heard : `NOT TOLD; ${heard}`} | ${bought} | ${count('refused')} |`
}

// What was started ends with this process, whoever ends it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
await main(process.argv.slice(2))
