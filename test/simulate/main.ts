import { fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { parseArgs } from 'node:util'
import { addCoverage, newCoverage, printCoverage } from './coverage.ts'
import { loadHookWithout } from './mends.ts'

// `npm run simulate`: universes that a seed decides, judged from outside.
//
//   npm run simulate -- --seed=7                      one universe, told step by step
//   npm run simulate -- --universes=200 --jobs=2      many; --from=1000 begins at another seed
//   npm run simulate -- --universes=5000 --without=E15 --until-found
//                                                     with one mend taken out: is it found, and in which universe?

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    universes: { type: 'string', default: '100' },
    jobs: { type: 'string', default: '1' },
    every: { type: 'string', default: '1' },
    without: { type: 'string' },
    'until-found': { type: 'boolean', default: false },
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
  const tallies = jobs > 1 && !values.seed ? await Promise.all(workersOf(jobs)) : [await work()]
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
  // Only now: what a mend is taken out of must not be loaded yet.
  const [{ buildStage }, { runUniverse }, { shrink }, { shortHistory, tellFault }] = await Promise.all([
    import('./stage.ts'),
    import('./run.ts'),
    import('./shrink.ts'),
    import('./told.ts'),
  ])
  const stage = await buildStage()
  const coverage = newCoverage()
  const cpu = process.cpuUsage()
  const [first, step] = [Number(values.seed ?? values.from), Number(values.every)]
  const count = values.seed ? 1 : Number(values.universes)
  let universes = 0
  let violations = 0
  while (universes < count) {
    const seed = first + universes++ * step
    const verdict = await runUniverse(seed, stage, { isTold: values.seed !== undefined })
    addCoverage(coverage, verdict.coverage)
    if (values.seed) console.log(verdict.history.join('\n'))
    if (values.seed)
      console.log(`seed ${seed}: digest ${verdict.digest}, ${verdict.steps} steps, ${verdict.virtualMs} virtual ms`)
    if (verdict.violations.length === 0) continue
    violations++
    console.log(`seed ${seed}, universe ${universes}: ${verdict.violations.join('\n  ')}`)
    const shrunk = await shrink(stage, verdict)
    const again = await runUniverse(seed, stage, { ...shrunk, isTold: true })
    console.log(
      `  of ${verdict.plan.length} faults and ${verdict.purchases.length} purchases these are needed (${shrunk.runs} runs): purchases ${shrunk.only.join(', ')}`,
    )
    for (const fault of shrunk.plan) console.log(`    ${tellFault(fault)}`)
    console.log(shortHistory(again))
    if (values['until-found']) break
  }
  const { user, system } = process.cpuUsage(cpu)
  const { passed, struck } = coverage
  return { universes, violations, passed: [...passed], struck: [...struck], cpuMs: (user + system) / 1000 }
}

/** The comment at the top of this file. */
function help(): string {
  const comment = readFileSync(import.meta.filename, 'utf8').match(/^\/\/.*$/gm)!
  return comment.map((line) => line.slice(3)).join('\n')
}

await main()
process.exit()
