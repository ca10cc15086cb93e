import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { secondsOf } from './support/seconds.ts'

// Half of what a test file cost was to load the shop and to run its code cold. Files therefore share a process, one after the other: each is
// a suite of its own, so what it sets up before and after its tests stays its own.

/** A process for each core, as many for when they wait, and two for those that mostly do: each costs ten seconds to load and to warm up. */
const PIECES = 2 * availableParallelism() + 2

/** These take long, and most of it one core or none: at the end the cores would wait for them. */
const WAITING = [
  'test/rehearsal/rehearsal.test.ts',
  'test/simulate/simulate.test.ts',
  'test/enemies/database/silent-store.test.ts',
]

/** These are long, and what they do is done by other processes, so that rows of them keep the cores busy to the end. */
const DELEGATING = [
  'test/crash/kill.test.ts',
  'test/proxy/proxy.test.ts',
  'test/operations/failover.test.ts',
  'test/crash/sandbox.test.ts',
  'test/package/deploy.test.ts',
  'test/store/embedded.test.ts',
  'test/cli/commands.test.ts',
]
const DELEGATING_ROWS = 3

/** These are long as well, and cost least beside each other: the shop is warm, and one browser serves them all. */
const BROWSER = /^test\/browser\//

/** These declare goods and rails of their own, or take over time and chance, for everything in their process. */
const TAKING_OVER = /^test\/(house|simulate)\//

/** Who waits for something while it is loaded cannot be loaded inside a suite. */
const WAITS_AT_LOAD = /^(?:(?:export )?(?:const|let) .*= )?await /m

export type Group = readonly [string, ...string[]]

export function groupsOf(files: readonly string[]): readonly Group[] {
  const isAlone = (file: string) =>
    WAITING.includes(file) || TAKING_OVER.test(file) || WAITS_AT_LOAD.test(readFileSync(file, 'utf8'))
  const alone = files.filter(isAlone)
  const shared = files.filter((file) => !isAlone(file))
  const delegating = DELEGATING.filter((file) => shared.includes(file))
  const browser = shared.filter((file) => BROWSER.test(file))
  const others = shared.filter((file) => ![...delegating, ...browser].includes(file))
  const isWaiting = (file: string) => WAITING.includes(file)
  // The longest first: no core waits long for another at the end.
  return [
    ...piecesOf(others, PIECES),
    ...alone.filter(isWaiting).map((file): Group => [file]),
    ...piecesOf(browser, 1),
    ...piecesOf(delegating, DELEGATING_ROWS),
    ...alone.filter((file) => !isWaiting(file)).map((file): Group => [file]),
  ]
}

/** The longest first, each to whoever has least: what begins together ends together. Within a piece they stand by name, so that not all that is long runs at once. */
function piecesOf(files: readonly string[], pieces: number): readonly Group[] {
  const hands = Array.from({ length: pieces }, () => ({ seconds: 0, files: [] as string[] }))
  for (const file of files.toSorted((one, other) => secondsOf(other) - secondsOf(one))) {
    const hand = hands.reduce((least, one) => (one.seconds < least.seconds ? one : least))
    hand.seconds += secondsOf(file)
    hand.files.push(file)
  }
  return hands.map(({ files: dealt }) => dealt.sort()).filter((hand): hand is [string, ...string[]] => hand.length > 0)
}

/** A file that the runner can be given, for each group. The runner sorts what it is given by name, so the names say the order. */
export function writeGroups(files: readonly string[], folder: string): readonly string[] {
  return groupsOf(files).map((group, index) => {
    const name = join(folder, `${String(index).padStart(3, '0')}-${group[0].replaceAll('/', '-')}.mjs`)
    writeFileSync(name, group.length === 1 ? `import ${pathOf(group[0])}\n` : suitesOf(group))
    return name
  })
}

const pathOf = (file: string) => JSON.stringify(join(process.cwd(), file))

function suitesOf(group: Group): string {
  const lines = group.map((file) => `describe('${file}', () => void load(${pathOf(file)}))`)
  return `import { createRequire } from 'node:module'
import { describe } from 'node:test'

const load = createRequire(import.meta.url)
${lines.join('\n')}
`
}
