// Charts as SVG: linear, from zero, one currency to an axis, with a table for whoever cannot see them.
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { html, railClass } from './parts.js'
import { railName, sum } from './words.js'

/** A round number at or above `value`, for the top of an axis. */
function roundUp(value) {
  if (value <= 0) return 1
  const power = 10 ** Math.floor(Math.log10(value))
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value * 0.999)
}

const short = (value) =>
  value >= 10_000 ? `${Math.round(value / 100) / 10}k` : String(Math.round(value * 1000) / 1000)

/**
 * Stacked bars. A bar is `{ label, title, parts: [{ key, value }], isOver }`; what is not over is pale.
 * @param {{ bars: any[], unit?: string, height?: number, label: string, tone?: (key: string) => string }} props
 */
export function Bars({ bars, unit = '', height = 200, label, tone = railClass }) {
  const [at, setAt] = useState(-1)
  const [W, box] = useWidth(640)
  const total = (bar) => bar.parts.reduce((all, { value }) => all + value, 0)
  const top = roundUp(Math.max(...bars.map(total), 0))
  const [left, below] = [44, 22]
  const H = height - below
  const step = (W - left) / Math.max(bars.length, 1)
  const width = Math.min(step * 0.72, 46)
  const every = Math.ceil(bars.length / Math.max(2, Math.floor((W - left) / 76)))
  const y = (value) => H - (value / top) * (H - 12)
  const keys = [...new Set(bars.flatMap(({ parts }) => parts.map(({ key }) => key)))].sort().reverse()
  const shown = bars[at] ?? bars.at(-1)
  return html`<figure class="chart" ref=${box}><svg width=${W} height=${height} viewBox="0 0 ${W} ${height}" role="img" aria-label=${label} onMouseLeave=${() => setAt(-1)}>
    ${[0, top / 2, top].map((value) => html`<g><line class="rule" x1=${left} x2=${W} y1=${y(value)} y2=${y(value)} /><text x=${left - 8} y=${y(value) + 4} text-anchor="end">${short(value)}</text></g>`)}
    ${bars.map((bar, index) => {
      let base = 0
      const x = left + index * step + (step - width) / 2
      return html`<g class="bar-of ${bar.isOver === false ? 'pale' : ''} ${index === at ? 'on' : ''}" onMouseEnter=${() => setAt(index)}>
        <rect class="hit" x=${left + index * step} y="0" width=${step} height=${H} />
        ${keys.map((key) => {
          const value = bar.parts.filter((part) => part.key === key).reduce((all, part) => all + part.value, 0)
          if (value <= 0) return null
          const from = y(base)
          base += value
          return html`<rect class="fill ${tone(key)}" x=${x} width=${width} y=${y(base)} height=${Math.max(from - y(base) - (base > value ? 1 : 0), 0.6)} rx="2" />`
        })}
        ${index % every === 0 ? html`<text x=${x + width / 2} y=${height - 6} text-anchor="middle">${bar.label}</text>` : null}</g>`
    })}</svg>
    <figcaption>${
      shown
        ? html`<b>${shown.title}</b> ${keys
            .map((key) => [
              key,
              shown.parts.filter((part) => part.key === key).reduce((all, part) => all + part.value, 0),
            ])
            .filter(([, value]) => value > 0)
            .map(
              ([key, value]) =>
                html`<span class="rail ${tone(key)}">${railName(key)} ${sum(Math.round(value * 1e6) / 1e6)} ${unit}</span>`,
            )}${total(shown) === 0 ? html`<span>nothing</span>` : null}${shown.isOver === false ? html`<span class="soft">not over yet</span>` : null}`
        : null
    }</figcaption>
    <div class="sr"><table><caption>${label}</caption><thead><tr><th>When</th>${keys.map((key) => html`<th>${railName(key)}</th>`)}</tr></thead><tbody>${bars.map((bar) => html`<tr><th scope="row">${bar.title}</th>${keys.map((key) => html`<td>${bar.parts.find((part) => part.key === key)?.value ?? 0} ${unit}</td>`)}</tr>`)}</tbody></table></div></figure>`
}

/** Drawn in the pixels there are, so that letters are as large on a phone as anywhere. @returns {[number, any]} */
function useWidth(before) {
  const [width, setWidth] = useState(before)
  const box = useRef(null)
  useLayoutEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.max(Math.floor(entry.contentRect.width), 220)))
    observer.observe(box.current)
    setWidth(Math.max(Math.floor(box.current.getBoundingClientRect().width), 220))
    return () => observer.disconnect()
  }, [])
  return [width, box]
}

/** A line without an axis, for the shape of things. @param {{ values: number[] }} props */
export function Spark({ values }) {
  const top = Math.max(...values, 0)
  if (values.length < 2) return html`<svg class="spark" viewBox="0 0 120 30" aria-hidden="true"></svg>`
  const point = (value, index) =>
    `${((index / (values.length - 1)) * 120).toFixed(1)},${(28 - (top > 0 ? value / top : 0) * 25).toFixed(1)}`
  const line = values.map(point).join(' ')
  return html`<svg class="spark" viewBox="0 0 120 30" preserveAspectRatio="none" aria-hidden="true"><polygon points="0,29 ${line} 120,29" /><polyline points=${line} /></svg>`
}

/** Horizontal bars of one measure. A row is `{ name, value, text?, note?, to?, tone? }`. */
export function Steps({ rows, of }) {
  const top = of ?? Math.max(...rows.map(({ value }) => value), 1)
  return html`<ul class="steps">${rows.map(({ name, value, text, note, tone = '' }) => html`<li><span class="step-name">${name}</span><svg viewBox="0 0 1000 10" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" width="1000" height="10" rx="4" /><rect class="fill ${tone}" width=${value > 0 ? Math.max((value / top) * 1000, 4) : 0} height="10" rx="4" /></svg><b>${text ?? value}</b><small class="soft">${note ?? ''}</small></li>`)}</ul>`
}
