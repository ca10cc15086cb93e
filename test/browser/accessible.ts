import type { Page } from 'playwright-core'

/** What stands between a page and whoever cannot see it, or sees little: a list of faults, in words. Runs inside the page. */
export function accessibilityFaults(page: Page): Promise<readonly string[]> {
  return page.evaluate(() => {
    const faults: string[] = []
    const say = (node: Element, what: string) => faults.push(`${what}: ${node.outerHTML.slice(0, 120)}`)
    const all = (selector: string) => [...document.querySelectorAll<HTMLElement>(selector)]
    const isShown = (node: Element) => node.getClientRects().length > 0

    if (!document.documentElement.lang) faults.push('the page names no language')
    if (!document.title.trim()) faults.push('the page has no title')
    if (all('h1').length !== 1) faults.push(`the page has ${all('h1').length} first headings`)
    if (all('main').length !== 1) faults.push('the page has no main part')
    for (const nav of all('nav')) if (!nav.getAttribute('aria-label')) say(nav, 'navigation without a name')

    let level = 0
    for (const heading of all('h1, h2, h3, h4')) {
      const own = Number(heading.tagName[1])
      if (own > level + 1) say(heading, `heading after a level ${level}`)
      if (!heading.textContent?.trim()) say(heading, 'empty heading')
      level = own
    }
    const ids = all('[id]').map(({ id }) => id)
    for (const id of new Set(ids.filter((id, index) => ids.indexOf(id) !== index)))
      faults.push(`two things are called ${id}`)
    for (const image of all('img')) if (!image.hasAttribute('alt')) say(image, 'picture without a text')
    for (const field of all('input, textarea, select'))
      if (!document.querySelector(`label[for="${field.id}"]`) && !field.getAttribute('aria-label'))
        say(field, 'field without a label')
    for (const control of all('a, button, summary'))
      if (!(control.getAttribute('aria-label') ?? control.textContent)?.trim()) say(control, 'control without a name')
    for (const link of all('a')) if (!link.getAttribute('href')) say(link, 'link that leads nowhere')
    for (const list of all('ul, ol'))
      for (const child of list.children) if (child.tagName !== 'LI') say(child, 'not an item in a list')
    for (const list of all('dl'))
      for (const child of list.children) if (!/^(DT|DD|DIV)$/.test(child.tagName)) say(child, 'not a term')
    for (const table of all('table'))
      if (table.querySelectorAll('th').length === 0) say(table, 'table without headings')
    for (const node of all('pre, div, table'))
      if (
        isShown(node) &&
        node.scrollWidth > node.clientWidth + 1 &&
        /auto|scroll/.test(getComputedStyle(node).overflowX) &&
        node.tabIndex < 0
      )
        say(node, 'scrolls, and no key can scroll it')
    for (const region of all('[role="region"]'))
      if (!region.getAttribute('aria-label')) say(region, 'region without a name')

    const light = (rgb: readonly number[]) => {
      const [red = 0, green = 0, blue = 0] = rgb.map((channel) => {
        const share = channel / 255
        return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
      })
      return 0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
    const numbers = (colour: string) => (colour.match(/[\d.]+/g) ?? []).map(Number)
    const paperOf = (node: Element | null): readonly number[] => {
      for (let at = node; at; at = at.parentElement) {
        const [red = 0, green = 0, blue = 0, alpha = 1] = numbers(getComputedStyle(at).backgroundColor)
        if (alpha === 1) return [red, green, blue]
      }
      return [255, 255, 255]
    }
    for (const node of all('body *')) {
      const hasText = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent?.trim())
      if (!hasText || !isShown(node) || (node as HTMLButtonElement).disabled) continue
      const { color } = getComputedStyle(node)
      const [one, other] = [light(numbers(color)), light(paperOf(node))]
      const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05)
      if (contrast < 4.5) say(node, `contrast of only ${contrast.toFixed(2)}`)
    }
    return faults
  })
}
