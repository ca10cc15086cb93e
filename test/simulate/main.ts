import { parseArgs } from 'node:util'
import { runUniverse } from './run.ts'
import { buildStage } from './stage.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    from: { type: 'string', default: '1' },
    universes: { type: 'string', default: '20' },
    jobs: { type: 'string', default: '1' },
  },
})

const stage = await buildStage()
const first = Number(values.seed ?? values.from)
const count = values.seed ? 1 : Number(values.universes)
const begun = performance.now()
const cpu = process.cpuUsage()
for (let seed = first; seed < first + count; seed++) {
  const verdict = await runUniverse(seed, stage, { isTold: values.seed !== undefined })
  if (values.seed) console.log(verdict.history.join('\n'))
  console.log(seed, verdict.digest, verdict.steps, verdict.virtualMs, verdict.violations)
}
console.log(`${((count * 60_000) / (performance.now() - begun)).toFixed(0)} universes a minute`)
const used = process.cpuUsage(cpu)
console.log(`${((used.user + used.system) / 1000 / count).toFixed(0)} ms of CPU each`)
process.exit(0)
