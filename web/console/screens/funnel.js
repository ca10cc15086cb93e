// From the first 402 to the goods, and why some do not get there.
import { useState } from 'preact/hooks'
import { Bars, Steps } from '../charts.js'
import { useData } from '../data.js'
import { Choice, Empty, Head, html, Panel } from '../parts.js'
import { route, withQuery } from '../shop.js'
import { dayOf, hourOf, number, plain, rails } from '../words.js'

const WINDOWS = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
]
const SURFACES = [
  ['', 'Everything'],
  ['sale', 'Sale'],
  ['shop', 'Shop'],
  ['gateway', 'Gateway'],
  ['craft', 'Craft'],
]
const NAMES = {
  asked: 'Asked to pay (402)',
  paid: 'Paid',
  settled: 'Money arrived',
  delivered: 'Delivered',
  refunded: 'Refunded',
}

export default function Funnel() {
  const params = route.value.searchParams
  const [period, surface, rail] = [params.get('window') ?? '24h', params.get('surface') ?? '', params.get('rail') ?? '']
  const query = new URLSearchParams({ window: period, ...(surface ? { surface } : {}), ...(rail ? { rail } : {}) })
  const funnel = useData(`/operator/funnel?${query}`, { every: 30_000 })
  const [code, setCode] = useState(null)
  return html`<${Head} title="Funnel" sub="Counted over all replicas. Whoever sends a good payment with the first call was never asked." />
    <div class="stack"><div class="split"><${Choice} label="Time" options=${WINDOWS} value=${period} to=${(id) => withQuery({ window: id === '24h' ? null : id })} /><${Choice} label="Surface" options=${SURFACES} value=${surface} to=${(id) => withQuery({ surface: id || null })} />${rails.length > 1 ? html`<${Choice} label="Protocol" options=${[['', 'Any'], ...rails.map(({ name, label }) => [name, label])]} value=${rail} to=${(id) => withQuery({ rail: id || null })} />` : null}</div>
    <${Panel} of=${funnel} title="From price to goods" height=${220} empty=${({ steps }) => (steps.every(({ count }) => count === 0) ? html`<${Empty} icon="funnel" title="Nobody asked for a price in this time">As soon as an agent does, it is counted here.<//>` : null)}>${({
      steps,
    }) => {
      const top = Math.max(...steps.map(({ count }) => count), 1)
      return html`<div class="wide-steps"><${Steps} of=${top} rows=${steps.map(({ step, count }, index) => ({ name: NAMES[step] ?? plain(step), value: count, text: number(count), tone: step === 'refunded' ? 'back' : '', note: index > 0 && step !== 'refunded' && steps[index - 1].count > 0 ? `${Math.round((count / steps[index - 1].count) * 1000) / 10} %` : '' }))} /></div>`
    }}<//>
    <${Panel} of=${funnel} title="Refused" note="by code" height=${220} empty=${({ refusals }) => (refusals.length === 0 ? html`<${Empty} icon="ok" title="Nobody was refused">Every request of this time could be sold.<//>` : null)}>${({
      refusals,
      at,
    }) => {
      const shown = refusals.find((one) => one.code === code) ?? refusals[0]
      return html`<div class="half"><ul class="picks">${refusals.map((one) => html`<li><button type="button" class="pick" aria-pressed=${one.code === shown.code} onClick=${() => setCode(one.code)}><code>${one.code}</code><b>${number(one.count)}</b></button></li>`)}</ul>
        <div><h3><code>${shown.code}</code> over time</h3><${Bars} height=${150} label="${shown.code} over time" tone=${() => 'warn'} bars=${shown.series.map((value, index) => ({ label: period === '24h' ? hourOf(at[index]) : dayOf(at[index]), title: period === '24h' ? hourOf(at[index]) : dayOf(at[index]), isOver: index < at.length - 1, parts: [{ key: shown.code, value }] }))} />
        ${shown.example ? html`<p class="soft small">The last one: ${typeof shown.example === 'string' ? shown.example : JSON.stringify(shown.example)}</p>` : null}<p class="small"><a href="/errors#${shown.code}">What this code means</a></p></div></div>`
    }}<//></div>`
}
