import axe from 'axe-core'
import type { Page } from 'playwright-core'

export const phone = { width: 390, height: 844 }

/** Widths and colours do not meet in any rule of our pages, so two looks show all that four would. */
export const looks = [
  { viewport: { width: 1280, height: 900 }, colorScheme: 'light' },
  { viewport: phone, colorScheme: 'dark' },
] as const

/** What stands between a page and whoever cannot see it, or sees little, as axe finds it: a list of faults, in words. */
export async function accessibilityFaults(page: Page, exclude: readonly string[] = []): Promise<readonly string[]> {
  // Our pages let no script in; what the driver evaluates is not theirs to refuse.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  const { violations } = await page.evaluate(
    (excluded) => (globalThis as unknown as { axe: typeof axe }).axe.run({ exclude: [...excluded] }),
    exclude,
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html} ${failureSummary}`),
  )
}
