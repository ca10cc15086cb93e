/** Which part of the shop was looked at, in the order in which they are shown. */
export const areas = [
  'configuration',
  'store',
  'chains',
  'keys',
  'clock',
  'facilitator',
  'game',
  'shop',
  'documents',
  'grades',
] as const
type Area = (typeof areas)[number]

/** `warn`: it works, and somebody should know. `fail`: it does not work, or money is in danger. */
type Severity = 'ok' | 'warn' | 'fail' | 'skipped'

export type Diagnosis = {
  readonly area: Area
  readonly what: string
  readonly severity: Severity
  readonly detail: string
  /** What to do about it; null when there is nothing to do. */
  readonly fix: string | null
}

/** Something is wrong, and this is how to mend it. */
export class FoundTrouble extends Error {
  readonly severity: 'warn' | 'fail'
  readonly fix: string
  constructor(severity: 'warn' | 'fail', message: string, fix: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Trouble'
    this.severity = severity
    this.fix = fix
  }
}

export type Check = { readonly area: Area; readonly what: string; readonly fix: string }

/** One look. `ask` tells what is well, or throws; an error that is no Trouble is a failure that `fix` may mend. */
export async function look(check: Check, ask: () => Promise<string> | string): Promise<Diagnosis> {
  const { area, what, fix } = check
  try {
    return { area, what, severity: 'ok', detail: await ask(), fix: null }
  } catch (error) {
    if (error instanceof FoundTrouble)
      return { area, what, severity: error.severity, detail: error.message, fix: error.fix }
    return { area, what, severity: 'fail', detail: (error as Error).message, fix }
  }
}

export function skipped(area: Area, what: string, detail: string): Diagnosis {
  return { area, what, severity: 'skipped', detail, fix: null }
}

/** Areas are in the order in which a shop is opened, so the first failure is what to mend first; null: nothing is to be done. */
export function nextOf(findings: readonly Diagnosis[]): string | null {
  const toDo = findings.filter(({ fix }) => fix !== null)
  const first = toDo.find(({ severity }) => severity === 'fail') ?? toDo[0]
  return first?.fix ?? null
}

/** A nothing to mend, B something to know, C scanners stumble, F it cannot sell or money is in danger. */
export type Grade = 'A' | 'B' | 'C' | 'F'

export function gradeOf(findings: readonly Diagnosis[]): Grade {
  const failed = findings.filter(({ severity }) => severity === 'fail')
  if (failed.some(({ area }) => area !== 'documents')) return 'F'
  if (failed.length > 0) return 'C'
  return findings.some(({ severity }) => severity === 'warn') ? 'B' : 'A'
}
