import { isCall, LABELS, type Striking, waypointLabels } from './faults.ts'

/** How often which label was passed, and which fault struck there. */
export type Coverage = {
  readonly passed: Map<string, number>
  readonly struck: Map<string, number>
}

const AT_LABELS = ['kill', 'stop', 'lose', 'delay'] as const

export const newCoverage = (): Coverage => ({ passed: new Map(), struck: new Map() })

export function countStrike({ struck }: Coverage, { kind, label }: Striking): void {
  count(struck, `${kind} ${label}`)
}

export function countOther({ struck }: Coverage, name: string): void {
  count(struck, name)
}

export function countPassed({ passed }: Coverage, label: string): void {
  count(passed, label)
}

function count(counts: Map<string, number>, key: string, by = 1): void {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

export function addCoverage(into: Coverage, from: Coverage): void {
  for (const [key, by] of from.passed) count(into.passed, key, by)
  for (const [key, by] of from.struck) count(into.struck, key, by)
}

/** Who was reached by what, and what never was. */
export function printCoverage({ passed, struck }: Coverage): string {
  const labels = [...new Set([...LABELS, ...waypointLabels])].sort()
  const rows = labels.map((label) => {
    const counts = AT_LABELS.map((kind) => (canStrike(kind, label) ? String(struck.get(`${kind} ${label}`) ?? 0) : '-'))
    return [label, String(passed.get(label) ?? 0), ...counts]
  })
  const table = [['label', 'passed', ...AT_LABELS], ...rows]
    .map(([first = '', ...rest]) => first.padEnd(34) + rest.map((cell) => cell.padStart(9)).join(''))
    .join('\n')
  const never = labels.flatMap((label) =>
    AT_LABELS.filter((kind) => canStrike(kind, label) && !struck.has(`${kind} ${label}`)).map(
      (kind) => `${kind} ${label}`,
    ),
  )
  const others = [...struck].filter(([key]) => !AT_LABELS.some((kind) => key.startsWith(`${kind} `))).sort()
  return [
    table,
    `other faults: ${others.map(([key, times]) => `${key} ${times}`).join(', ') || 'none'}`,
    `never passed: ${labels.filter((label) => !passed.has(label)).join(', ') || 'none'}`,
    `pairs never reached (${never.length}): ${never.join(', ') || 'none'}`,
  ].join('\n')
}

function canStrike(kind: (typeof AT_LABELS)[number], label: string): boolean {
  return kind === 'kill' || kind === 'stop' || isCall(label)
}
