import { spawnSync } from 'node:child_process'
import type { TestShop } from '../support/shop.ts'
import { asOperator } from './desk.ts'

/** The figures of a shop as somebody reads them, and what one series stands at. */
export type Figures = { readonly text: string; value(series: string): number; sum(family: string): number }

export async function readFigures(shop: Pick<TestShop, 'url' | 'config'>): Promise<Figures> {
  const text = await (await asOperator(shop, '/metrics')).text()
  const samples = new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
  return {
    text,
    value: (series) => samples.get(series) ?? 0,
    sum: (family) =>
      [...samples].reduce((sum, [series, value]) => (series.replace(/\{.*$/, '') === family ? sum + value : sum), 0),
  }
}

/** Prometheus' own judge. */
export function promtool(args: readonly string[], input = ''): { readonly code: number | null; readonly said: string } {
  const { status, stdout, stderr, error } = spawnSync('promtool', args, { input, encoding: 'utf8' })
  return { code: status, said: `${stdout ?? ''}${stderr ?? ''}${error?.message ?? ''}` }
}

/** Why a test that needs promtool is skipped; false where it must run. With TEST_PROMTOOL=required a missing one is a failure. */
export const withoutPromtool: string | false =
  process.env['TEST_PROMTOOL'] === 'required' || promtool(['--version']).code === 0
    ? false
    : 'promtool is not installed (Debian: apt-get install prometheus)'
