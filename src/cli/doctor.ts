import type { Config } from '../config/config.ts'
import type { Environment } from '../config/options.ts'
import { boundedFetch } from './bounded-fetch.ts'
import { type Command, shopOptions } from './command.ts'
import { checkChains } from './doctor/chains.ts'
import { checkFacilitator, checkGame, checkStore, readConfiguration } from './doctor/configuration-checks.ts'
import { areas, type Diagnosis, type Grade, gradeOf, nextOf, skipped } from './doctor/finding.ts'
import { checkGrades } from './doctor/grades.ts'
import { checkFront } from './doctor/live-checks.ts'
import { checkProxy } from './doctor/proxy.ts'
import { visitTo } from './doctor/visit.ts'
import { shopUrl } from './shop-client.ts'
import type { Style, Terminal } from './terminal.ts'

export const doctor: Command = {
  args: '',
  about: [
    'Looks at everything that a shop needs, and at the running shop as scanners and strangers see it. Nothing is changed and nothing is paid.',
    '',
    'Grades: A nothing to mend, B something to know, C scanners stumble, F it cannot sell or money is in danger. Exit code 1 below B.',
    'The last line is always the next thing to do.',
  ].join('\n'),
  options: shopOptions,
  examples: [
    ['sutler doctor', 'before going live, and when something is odd'],
    ['sutler doctor --url https://shop.example.com --json', 'from a monitor'],
  ],
  async run(call) {
    const { terminal } = call
    const url = shopUrl(call)
    terminal.note(terminal.style.dim(`looking at the configuration, and at ${url}`))
    const { grade, next, findings } = await diagnose(call.env, url)
    return {
      json: { grade, next, findings: findings.map((finding) => ({ ...finding })) },
      text: reportText(findings, { grade, next }, terminal),
      isGood: grade === 'A' || grade === 'B',
    }
  },
}

/** Marks are for a shop that sells: one that does not has other worries. */
async function checkStrangers(url: string): Promise<readonly Diagnosis[]> {
  const visit = visitTo(url)
  const front = await checkFront(visit)
  return front.some(({ severity }) => severity === 'fail') ? front : [...front, ...(await checkGrades(visit))]
}

/** The whole examination, from this machine. A running shop lets its operators ask for it, too. */
export async function diagnose(
  env: Environment,
  url: string,
): Promise<Verdict & { readonly findings: readonly Diagnosis[] }> {
  const isRunning = await isAlive(url)
  const { config, findings } = readConfiguration(env, url)
  const house = config ? await checkHouse(config, isRunning) : []
  const front = isRunning ? await checkStrangers(url) : [silentShop(url)]
  const all = [...findings, ...house, ...front].toSorted((a, b) => areas.indexOf(a.area) - areas.indexOf(b.area))
  return { grade: gradeOf(all), next: nextOf(all), findings: all }
}

/** Whoever cannot be reached sells nothing. */
function silentShop(url: string): Diagnosis {
  const fix = 'Start it with `sutler start`, or name the one you mean with --url; then ask again.'
  return { area: 'shop', what: 'health', severity: 'fail', detail: `Nobody answers at ${url}.`, fix }
}

async function isAlive(url: string): Promise<boolean> {
  return (await boundedFetch(`${url}/health/live`).catch(() => null))?.ok ?? false
}

async function checkHouse(config: Config, isRunning: boolean): Promise<readonly Diagnosis[]> {
  const chains =
    config.mode === 'sandbox' && !isRunning
      ? [skipped('chains', 'dev chains', 'They live in the sandbox; start it to have them looked at.')]
      : await checkChains(config)
  const [store, facilitator, game] = await Promise.all([
    checkStore(config, isRunning),
    checkFacilitator(config),
    checkGame(config),
  ])
  const proxy = isRunning ? [await checkProxy(config)] : []
  return [...store, ...chains, ...facilitator, ...game, ...proxy]
}

const signs: Readonly<Record<Diagnosis['severity'], (style: Style) => string>> = {
  ok: ({ green }) => green('ok  '),
  warn: ({ yellow }) => yellow('warn'),
  fail: ({ red }) => red('FAIL'),
  skipped: ({ dim }) => dim('-   '),
}

type Verdict = { readonly grade: Grade; readonly next: string | null }

function reportText(findings: readonly Diagnosis[], { grade, next }: Verdict, { style, table }: Terminal): string {
  const rows = findings.map(({ area, what, severity, detail }) => [
    signs[severity](style),
    style.dim(area),
    what,
    severity === 'skipped' ? style.dim(detail) : detail,
  ])
  const fixes = findings.flatMap(({ what, fix }) => (fix === null ? [] : [`  ${style.bold(what)}: ${fix}`]))
  return [
    table(rows),
    '',
    ...(fixes.length > 0 ? [style.bold('To do'), ...fixes, ''] : []),
    `Grade ${style.bold(grade)}: ${verdicts[grade]}`,
    ...(next === null ? [] : [`Next: ${style.bold(next)}`]),
  ].join('\n')
}

const verdicts: Readonly<Record<Grade, string>> = {
  A: 'nothing to mend',
  B: 'it works; see what there is to know',
  C: 'it sells, but scanners stumble',
  F: 'it cannot sell, or money is in danger',
}
