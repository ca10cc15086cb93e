import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { chanceOf } from './chance.ts'
import { aimOf, PAIRS, planOf } from './faults.ts'
import { mends } from './mends.ts'
import { createScheduler, START_MS } from './scheduler.ts'

// A small share of the simulator; `npm run simulate` runs as much as one likes. TEST_UNIVERSES=500 asks for more here too.

const MAIN = join(import.meta.dirname, 'main.ts')
const ROOT = join(import.meta.dirname, '../..')
const { TEST_UNIVERSES } = process.env
const COUNT = Number(TEST_UNIVERSES ?? 1)
/** What it costs to start a process for one universe buys ten universes: those are for whoever asks for more. */
const IS_ASKED = TEST_UNIVERSES !== undefined
/** So short a run does not get back what it costs to optimise the embedded engine. */
const PROGRAM = ['--liftoff-only', MAIN]
/** A defence has the name of the move that it stands against; `TEST_MENDS=allowance,nothing,gap,forgotten,promises` tries all that have one. */
/** One payer may have one promise open in this one. */
const STRICT = ['--seeds=30129', '--plan=[]']
const MENDS = process.env['TEST_MENDS']?.split(',') ?? (IS_ASKED ? ['allowance'] : [])

/** In a process of its own: a universe takes the clock and the randomness of its process away. */
async function simulate(...args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(process.execPath, [...PROGRAM, ...args], { maxBuffer: 1 << 28 })).stdout
  } catch (error) {
    return assert.fail((error as { stdout: string; stderr: string }).stdout || String(error))
  }
}

const digestsIn = (output: string) => output.split('\n').filter((line) => line.includes(': digest '))

test('universes come to rest without a violation, those that once found something too, and a seed repeats: twice in one process, and alone in a new one', async (t) => {
  const seeds = Array.from({ length: COUNT }, (_, nth) => nth + 1)
  const again = COUNT
  const digests = digestsIn(await simulate(`--seeds=${[...seeds, again].join(',')}`, '--digests', '--kept'))
  assert.equal(digests.length, seeds.length + 1)
  assert.equal(digests.at(-1), digests[seeds.indexOf(again)], 'twice in one process')
  if (!IS_ASKED) return t.diagnostic('alone in a process: not tried; --universes=2 tries it')
  assert.deepEqual(digestsIn(await simulate(`--seeds=${again}`, '--digests')), digests.slice(-1), 'alone')
})

test('a universe comes to rest on PostgreSQL too, where statements wait for locks', {
  skip: !IS_ASKED && 'not tried; --universes=2 tries it',
}, async () => {
  assert.match(await simulate('--seeds=2', '--depth=postgres'), /^1 universes, 0 with violations/m)
})

for (const mend of MENDS)
  test(`without the mend of ${mend} a universe with its enemy has a violation`, async () => {
    const seeds = mend === 'promises' ? STRICT : ['--universes=8']
    const aim = [
      `--without=${mend}`,
      `--enemy=${mend === 'promises' ? 'many promises' : mend}`,
      ...seeds,
      '--until-found',
      '--brief',
    ]
    const found = await promisify(execFile)(process.execPath, [...PROGRAM, ...aim], { maxBuffer: 1 << 28 }).catch(
      (error: { stdout: string }) => error.stdout,
    )
    assert.match(String(found), /^seed \d+, universe \d+: /m)
  })

test('each pair of a place and a fault has its seeds', () => {
  const aims = Array.from({ length: 2 * PAIRS.length }, (_, seed) => aimOf(seed)).filter((pair) => pair !== null)
  assert.equal(new Set(aims.map((pair) => JSON.stringify(pair))).size, PAIRS.length)
})

test('every mend that can be taken out is still there to be taken out', () => {
  for (const [name, cuts] of Object.entries(mends))
    for (const { file, from } of cuts)
      assert.ok(readFileSync(join(ROOT, file), 'utf8').includes(from), `${name} in ${file}`)
})

test('a plan is the same for the same seed, and seeds differ', () => {
  assert.deepEqual(planOf(5), planOf(5))
  assert.notDeepEqual(
    Array.from({ length: 20 }, (_, seed) => planOf(seed)),
    Array.from({ length: 20 }, (_, seed) => planOf(seed + 20)),
  )
})

test('time moves only when nobody can go on; the stopped wait, and the dead never come back', async () => {
  const sim = createScheduler({ chance: chanceOf(1, 'order'), isTold: true, onStep() {} })
  const [runner, stopped, dead] = [sim.actor('runner'), sim.actor('stopped'), sim.actor('dead')]
  const heard: string[] = []
  const say = (what: string) => () => void heard.push(`${what} ${sim.now() - START_MS}`)
  stopped.stoppedUntil = START_MS + 5_000
  void sim.point(stopped, 'waits').then(say('stopped'))
  void sim.clockOf(dead).sleep(1_000).then(say('dead'))
  void sim
    .point(runner, 'runs')
    .then(say('ran'))
    .then(() => sim.clockOf(runner).sleep(2_000))
    .then(say('woke'))
  sim.kill(dead)
  assert.equal(await sim.run(() => false, START_MS + 10_000), 'idle')
  assert.deepEqual(heard, ['ran 0', 'woke 2000', 'stopped 5000'])
})
