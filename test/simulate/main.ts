import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { parseArgs } from 'node:util'
import type { Move } from './actors/enemy.ts'
import { addCoverage, newCoverage, printCoverage } from './coverage.ts'
import { type Fault, KINDS } from './faults.ts'
import { KEPT } from './kept.ts'
import { loadHookWithout } from './mends.ts'
import type { Verdict } from './run.ts'

// `npm run simulate`: universes that a seed decides, judged from outside.
//
//   npm run simulate -- --seed=7                      one universe, told step by step
//   npm run simulate -- --universes=200 --jobs=2      many; --from=1000 begins at another seed
//   npm run simulate -- --seeds=3,5,3 --digests       these, each with the digest of all its steps
//   npm run simulate -- --universes=60 --depth=postgres
//                                                     on PostgreSQL: statements wait for locks, and sessions end with their process
//   npm run simulate -- --kept                        those that once found something as well, with the plans that did
//   npm run simulate -- --universes=5000 --without='late delivery' --until-found
//                                                     with one mend taken out: is it found, and in which universe?
//                                                     --kinds=lag,stop and --goods=lot aim: only these faults, only these goods;
//                                                     --enemy=gap: there is an enemy, and this is the trick;
//                                                     --plan='[{"kind":"stop", …}]' is the whole plan of every seed;
//                                                     --brief: a violation is named, and neither shrunk nor told

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    digests: { type: 'boolean', default: false },
    kept: { type: 'boolean', default: false },
    from: { type: 'string', default: '1' },
    universes: { type: 'string', default: '100' },
    jobs: { type: 'string', default: '1' },
    every: { type: 'string', default: '1' },
    without: { type: 'string' },
    kinds: { type: 'string' },
    goods: { type: 'string' },
    enemy: { type: 'string' },
    plan: { type: 'string' },
    depth: { type: 'string', default: 'memory' },
    'until-found': { type: 'boolean', default: false },
    brief: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
})

/** What a worker process says to its parent when it is done. */
type Tally = {
  readonly universes: number
  readonly violations: number
  readonly passed: readonly (readonly [string, number])[]
  readonly struck: readonly (readonly [string, number])[]
  readonly cpuMs: number
}

async function main(): Promise<void> {
  if (values.help) return console.log(help())
  const jobs = Number(values.jobs)
  const begun = performance.now()
  const tallies = jobs > 1 && !values.seed && !values.seeds ? await Promise.all(workersOf(jobs)) : [await work()]
  if (process.send) return void process.send(tallies[0])
  if (values.seed) return
  const coverage = newCoverage()
  for (const { passed, struck } of tallies) addCoverage(coverage, { passed: new Map(passed), struck: new Map(struck) })
  const sum = (read: (tally: Tally) => number) => tallies.reduce((total, tally) => total + read(tally), 0)
  const universes = sum(({ universes }) => universes)
  const minutes = (performance.now() - begun) / 60_000
  console.log(printCoverage(coverage))
  console.log(
    `${universes} universes, ${sum(({ violations }) => violations)} with violations; ${(universes / minutes).toFixed(0)} a minute, ${(sum(({ cpuMs }) => cpuMs) / universes).toFixed(0)} ms of CPU each`,
  )
  process.exitCode = sum(({ violations }) => violations) > 0 ? 1 : 0
}

/** Each takes every so-manieth seed: a worker that is slower delays nobody's seeds. */
function workersOf(jobs: number): Promise<Tally>[] {
  const args = process.argv.slice(2).filter((arg) => !/^--(jobs|from|universes)/.test(arg))
  const each = Math.ceil(Number(values.universes) / jobs)
  return Array.from({ length: jobs }, (_, index) => {
    const own = [`--from=${Number(values.from) + index}`, `--every=${jobs}`, `--universes=${each}`]
    const child = fork(import.meta.filename, [...args, ...own], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    return new Promise<Tally>((resolve, reject) => {
      child.once('message', (tally) => resolve(tally as Tally))
      child.once('exit', (code) => reject(new Error(`a worker ended with ${code}`)))
    })
  })
}

async function work(): Promise<Tally> {
  if (values.without) registerHooks(loadHookWithout(values.without))
  // Nobody reads where an error came from unless a universe is told.
  if (!values.seed) Error.stackTraceLimit = 0
  // Only now: what a mend is taken out of must not be loaded yet.
  const [{ buildStage, DEPTHS }, { runUniverse }, { shrink }, { shortHistory, tellFault }] = await Promise.all([
    import('./stage.ts'),
    import('./run.ts'),
    import('./shrink.ts'),
    import('./told.ts'),
  ])
  const depth = DEPTHS.find((one) => one === values.depth)
  if (!depth) throw new TypeError(`there is no depth ${values.depth}: ${DEPTHS.join(', ')}`)
  const stage = await buildStage(depth)
  const coverage = newCoverage()
  const cpu = process.cpuUsage()
  const kinds = KINDS.filter((kind) => values.kinds?.split(',').includes(kind))
  const aimed = {
    ...(kinds.length > 0 ? { kinds } : {}),
    ...(values.goods ? { goods: values.goods } : {}),
    ...(values.enemy ? { enemy: values.enemy as Move } : {}),
    ...(values.plan ? { plan: JSON.parse(values.plan) as readonly Fault[] } : {}),
  }
  let universes = 0
  let violations = 0
  const tally = (): Tally => {
    const { user, system } = process.cpuUsage(cpu)
    const { passed, struck } = coverage
    return { universes, violations, passed: [...passed], struck: [...struck], cpuMs: (user + system) / 1000 }
  }
  const kept = (values.kept ? KEPT : []).map(({ seed, plan, only }) => ({
    seed,
    aim: { plan, ...(only ? { only } : {}) },
  }))
  for (const { seed, aim } of [...seedsOf().map((seed) => ({ seed, aim: aimed })), ...kept]) {
    const verdict = await endedInTime(runUniverse(seed, stage, { isTold: values.seed !== undefined, ...aim }))
    universes++
    if (verdict === null) {
      violations++
      console.log(`seed ${seed}, universe ${universes}: never ended`)
      // What it waits for would be waited for again.
      return tally()
    }
    addCoverage(coverage, verdict.coverage)
    if (values.seed) console.log(verdict.history.join('\n'))
    if (values.seed || (values.digests && aim === aimed)) console.log(digestLine(verdict))
    if (verdict.violations.length === 0) continue
    violations++
    console.log(`seed ${seed}, universe ${universes}: ${verdict.violations.join('\n  ')}`)
    if (values.brief) {
      if (values['until-found']) break
      continue
    }
    const shrunk = await shrink(stage, verdict, aim)
    const again = await runUniverse(seed, stage, { ...aim, ...shrunk, isTold: true })
    const whole = `${verdict.plan.length} faults and ${verdict.purchases.length} purchases`
    console.log(`  of ${whole} these are needed (${shrunk.runs} runs): purchases ${shrunk.only.join(', ')}`)
    for (const fault of shrunk.plan) console.log(`    ${tellFault(fault)}`)
    console.log(shortHistory(again))
    if (values['until-found']) break
  }
  await stage.store.close()
  return tally()
}

/** Of the machine's own time: the longest took half a minute beside eight others. */
const UNIVERSE_MS_MAX = 600_000

/** Null for one in which nobody goes on any more, though somebody is said to be at work. */
async function endedInTime(universe: Promise<Verdict>): Promise<Verdict | null> {
  const { promise, resolve } = Promise.withResolvers<null>()
  const timer = setTimeout(resolve, UNIVERSE_MS_MAX, null)
  return Promise.race([universe, promise]).finally(() => clearTimeout(timer))
}

function digestLine({ seed, digest, steps, virtualMs }: Verdict): string {
  return `seed ${seed}: digest ${digest}, ${steps} steps, ${virtualMs} virtual ms`
}

function seedsOf(): readonly number[] {
  const named = values.seed ?? values.seeds
  if (named !== undefined) return named.split(',').map(Number)
  return Array.from({ length: Number(values.universes) }, (_, nth) => Number(values.from) + nth * Number(values.every))
}

/** The comment at the top of this file. */
function help(): string {
  const comment = readFileSync(import.meta.filename, 'utf8').match(/^\/\/.*$/gm)!
  return comment.map((line) => line.slice(3)).join('\n')
}

await main()
// What was told must leave first: a pipe may be slower than the telling.
process.stdout.write('', () => process.exit())
