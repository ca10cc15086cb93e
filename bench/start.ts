// What a start of the sandbox costs until it answers: the first one in an empty folder, and the next one in the same.
//   node bench/start.ts [--rounds=3]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { median, startMeasured } from './measured.ts'
import { numbersOf, type Report, report } from './report.ts'
import type { SandboxOrder } from './servers/sandbox.ts'

type Cost = { readonly cpuMs: number; readonly peakMb: number }

export async function benchStart({ rounds = 3 } = {}): Promise<Report> {
  const costs: Record<'first' | 'again', Cost[]> = { first: [], again: [] }
  for (let round = 0; round < rounds; round++) {
    const folder = mkdtempSync(join(tmpdir(), 'sutler-start-'))
    try {
      for (const which of ['first', 'again'] as const) costs[which].push(await costOfStart(folder))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  }
  const figure = (which: 'first' | 'again', [cpuGoal, peakGoal]: readonly [number, number]) => [
    { what: `${which}, CPU`, value: median(costs[which].map(({ cpuMs }) => cpuMs)), unit: 'ms', goal: cpuGoal },
    { what: `${which}, memory`, value: median(costs[which].map(({ peakMb }) => peakMb)), unit: 'MB', goal: peakGoal },
  ]
  return {
    title: 'Start of the sandbox',
    figures: [...figure('first', [4_000, 300]), ...figure('again', [2_000, 250])],
    ratios: [],
  }
}

async function costOfStart(folder: string): Promise<Cost> {
  const order: SandboxOrder = {
    port: await freePort(),
    dataDir: join(folder, 'data'),
    cacheDir: join(folder, 'compiled'),
  }
  const sandbox = await startMeasured(join(import.meta.dirname, 'servers', 'sandbox.ts'), order)
  try {
    return { cpuMs: (await sandbox.cpuMicros()) / 1_000, peakMb: (await sandbox.peakBytes()) / 2 ** 20 }
  } finally {
    sandbox.stop()
    await sandbox.ended
  }
}

if (import.meta.main) report([await benchStart(numbersOf(process.argv.slice(2), ['rounds']))])
