import type { Fault } from './faults.ts'
import type { Verdict } from './run.ts'

/** Looks that found nothing, and answers in between: nobody needs them to follow what happened. */
const DULL = /db select|db claim|db insert jobs|rpc eth_(chainId|getBlockByNumber|blockNumber|call|getCode|getBalance)/
const LINES_MAX = 120

/** A history that a person can follow: who did what to whom, without the looks. */
export function shortHistory({ history }: Verdict): string {
  const lines = history.filter((line) => line.includes('!!') || line.includes('VIOLATION') || !DULL.test(line))
  if (lines.length <= LINES_MAX) return lines.join('\n')
  const half = LINES_MAX / 2
  return [...lines.slice(0, half), `    … ${lines.length - LINES_MAX} lines …`, ...lines.slice(-half)].join('\n')
}

export function tellFault(fault: Fault): string {
  const { kind, ...rest } = fault
  return `${kind} ${Object.entries(rest)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ')}`
}
