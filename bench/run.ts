// Every bench in one go, or those that are named, each beside what it is compared with.
//   npm run bench -- [checkout] [mcp] [documents] [devchain] [floods] [load] [start] [growth] [console] [soak] [--shots=5000] [--rounds=5] [--paid=120] [--requests=500] [--count=500] [--buyers=50] [--orders=1000000] [--minutes=60] [--rate=100]
// Servers are measured by the CPU time of their own processes, turn by turn, so a busy machine moves the figures more than the ratios.
// `growth` fills a store for a quarter of an hour first, `soak` takes as long as it is told; they run only when they are named.
import { benchCheckout } from './checkout.ts'
import { benchConsole } from './console.ts'
import { benchDevchain } from './devchain.ts'
import { benchDocuments } from './documents.ts'
import { benchFloods } from './floods.ts'
import { benchGrowth } from './growth.ts'
import { benchLoad } from './load.ts'
import { benchMcp } from './mcp.ts'
import { numbersOf, type Report, report } from './report.ts'
import { benchSoak } from './soak.ts'
import { benchStart } from './start.ts'

const parts: Readonly<Record<string, (sizes: Readonly<Record<string, number>>) => Promise<Report>>> = {
  checkout: benchCheckout,
  mcp: benchMcp,
  documents: async (sizes) => documentReport(await benchDocuments(sizes)),
  devchain: benchDevchain,
  floods: benchFloods,
  load: benchLoad,
  start: benchStart,
  console: benchConsole,
  growth: benchGrowth,
  soak: benchSoak,
}

/** They take too long for a run that nobody asked for by name. */
const LONG = ['growth', 'soak']

const args = process.argv.slice(2)
const named = args.filter((arg) => !arg.startsWith('--'))
const unknown = named.filter((name) => !Object.hasOwn(parts, name))
if (unknown.length > 0)
  throw new Error(`there is no bench ${unknown.join(', ')}; there are ${Object.keys(parts).join(', ')}`)
const sizes = numbersOf(
  args.filter((arg) => arg.startsWith('--')),
  [
    'shots',
    'rounds',
    'paid',
    'requests',
    'count',
    'blocks',
    'purchases',
    'perSecond',
    'buyers',
    'orders',
    'minutes',
    'rate',
  ],
)
const reports: Report[] = []
for (const name of named.length > 0 ? named : Object.keys(parts).filter((name) => !LONG.includes(name))) {
  console.error(`${name} …`)
  reports.push(await parts[name]!(sizes))
}
report(reports)

function documentReport({ figures }: Awaited<ReturnType<typeof benchDocuments>>): Report {
  return {
    title: 'Documents',
    figures: figures.flatMap(({ path, bytes, bareMicros, ownMicros }) => [
      { what: `Hono ${path}, ${bytes} bytes`, value: bareMicros, unit: 'µs of CPU' },
      { what: `Sutler ${path}, ${bytes} bytes`, value: ownMicros, unit: 'µs of CPU' },
    ]),
    ratios: figures.map(({ path, timesBare }) => ({
      what: `Sutler ${path} : Hono`,
      value: timesBare,
      atMost: 1.3,
      goal: 1.1,
    })),
  }
}
