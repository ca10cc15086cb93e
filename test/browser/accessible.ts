import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

export const phone = { width: 390, height: 844 }

/** Widths and colours do not meet in any rule of our pages, so two looks show all that four would. */
export const looks = [
  { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { viewport: phone, colorScheme: 'dark' },
] as const

/** Pages are made of the same parts: how they look in the dark is asked of every second one, and of all with `--looks`. */
export const isLookedAt = (index: number): boolean => index % 2 === 0 || process.env['TEST_LOOKS'] !== undefined

/** The small one: a browser reads the other three times as long, for each page anew. */
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** What stands between a page and whoever cannot see it, or sees little, as axe finds it: a list of faults, in words. */
export async function accessibilityFaults(page: Page, exclude: readonly string[] = []): Promise<readonly string[]> {
  return faultsBy(page, exclude, {})
}

/** What depends on sizes and colours. All else is the same however a page looks, and once is enough. */
export async function legibilityOf(page: Page, exclude: readonly string[] = []): Promise<readonly string[]> {
  const values = ['color-contrast', 'link-in-text-block', 'scrollable-region-focusable', 'target-size']
  return faultsBy(page, exclude, { runOnly: { type: 'rule', values } })
}

/** The same by the rules of the named levels of WCAG, which are more than those that axe goes by unasked. */
export async function accessibilityOf(page: Page): Promise<readonly string[]> {
  const values = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  return faultsBy(page, [], { runOnly: { type: 'tag', values } })
}

async function faultsBy(page: Page, exclude: readonly string[], options: RunOptions): Promise<readonly string[]> {
  // Our pages let no script in; what the driver evaluates is not theirs to refuse.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE)
  const violations = await page.evaluate(
    async ([exclude, options]) => {
      type Axe = { run(context: object, options: RunOptions): Promise<AxeResults> }
      const { axe } = globalThis as unknown as { axe: Axe }
      return (await axe.run({ exclude }, { ...options, resultTypes: ['violations'], preload: false })).violations
    },
    [exclude, options] as const,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
