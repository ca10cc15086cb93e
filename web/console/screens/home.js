// What needs a person, then the figures of a day.
import { useEffect, useState } from 'preact/hooks'
import { useData } from '../data.js'
import { waiting } from '../frame.js'
import { recall, tail } from '../live.js'
import { toast } from '../over.js'
import {
  Act,
  Age,
  Badge,
  Choice,
  Empty,
  For,
  Head,
  html,
  Icon,
  Id,
  Link,
  later,
  Money,
  Panel,
  railClass,
  Status,
  useWalk,
} from '../parts.js'
import { go, refusalFor, route, withQuery } from '../shop.js'
import {
  dayOf,
  eventTitle,
  eventWords,
  hourOf,
  number,
  plain,
  railName,
  rounded,
  short,
  span,
  sum,
  timeOf,
  utcOf,
} from '../words.js'

// Drawn as soon as they are there: what needs a person does not wait for pictures.
const charts = import('../charts.js')
const [Bars, Spark, Steps] = ['Bars', 'Spark', 'Steps'].map((name) => later(() => charts, name))

// Loaded with the first deed: most visits only look.
const decideDelivery = async (id, done) => (await import('../deeds.js')).decideDelivery(id, done)
const refund = async (id, done) => (await import('../deeds.js')).refund(id, done)
const agree = async (approval, done) => (await import('../deeds.js')).agree(approval, done)
const refuse = async (approval, done) => (await import('../deeds.js')).refuse(approval, done)
const retry = async (id, done) => (await import('../deeds.js')).retry(id, done)

const KINDS = {
  stuck: 'off',
  in_doubt: 'doubt',
  held: 'transfer',
  refund_stuck: 'back',
  refund_held: 'back',
  wallet_low: 'wallet',
  webhook_dead: 'hook',
  webhook_disabled: 'hook',
  check_failing: 'system',
  payment_missing: 'money',
}
/** Things with a page of their own. */
const WITH_PAGE = new Set(['order', 'transfer', 'webhook'])
const ABOUT = /^(attention|wallet|node|game|rail|surface|order\.failed|payment\.held|refund|operator)|^poll$/

/** Where the thing itself is. */
function addressOf({ subject }) {
  const places = {
    order: `/operator/orders/${subject.id}`,
    transfer: `/operator/transfers/${subject.id}`,
    transfers: '/operator/transfers?state=held',
    webhook: `/operator/webhooks/${subject.id}`,
    wallet: '/operator/wallets',
  }
  return places[subject.type] ?? '/operator/system'
}

/** One verb for each: what is done here, or where it is done. */
function verbOf(item, again) {
  const [action] = item.actions
  const at = addressOf(item)
  switch (action) {
    case 'retry':
      return { words: 'Try now', run: () => retry(item.subject.id, again) }
    case 'decide':
      return item.subject.type === 'order'
        ? { words: 'Decide…', run: () => decideDelivery(item.subject.id, again) }
        : { words: 'Decide…', run: () => go(at) }
    case 'refund':
      return { words: 'Refund…', run: () => refund(item.subject.id, again) }
    case 'replay':
      return { words: 'Send again…', run: () => go(at) }
    case 'enable':
      return { words: 'Look…', run: () => go(at) }
    case 'fund':
      return { words: 'Fund…', run: () => go(at) }
    case 'reconcile':
      return { words: 'Reconcile…', run: () => go('/operator/money') }
    default:
      return { words: 'Look', run: () => go(at) }
  }
}

function Needs({ of }) {
  const [at, list] = useWalk({
    rows: of.data?.items ?? [],
    to: addressOf,
    act: (item) => {
      const no = refusalFor(item.role)
      if (no) toast(no, 'warn')
      else verbOf(item, of.again).run()
    },
  })
  return html`<${Panel} of=${of} label="What needs you" flush=${true} height=${120} empty=${({ items }) => (items.length === 0 ? html`<${Quiet} />` : null)}>${({
    items,
  }) =>
    html`<ul class="needs" ref=${list}>${items.map((item, index) => {
      const verb = verbOf(item, of.again)
      return html`<li key=${item.id} data-row class="${item.severity === 'act' ? 'bad' : 'warn'} ${index === at ? 'at' : ''}"><span class="sign"><${Icon} name=${KINDS[item.kind] ?? 'warn'} /></span>
      <div><b>${item.title}</b><p class="soft small"><b class="tone">${item.severity === 'act' ? 'Act now' : 'Soon'}</b> · waiting <${For} since=${item.since} /> ${WITH_PAGE.has(item.subject.type) ? html`· <${Link} to=${addressOf(item)} class="mono" data-open>${short(item.subject.id)}<//>` : null}${item.detail ? html` · <span>${item.detail}</span>` : null}</p></div>
      <span class="much">${item.amount === null ? null : html`<${Money} amount=${item.amount} currency=${item.currency} />`}</span>
      <${Act} role=${item.role} class=${item.severity === 'act' ? 'primary' : ''} onClick=${verb.run}>${verb.words}<//></li>`
    })}</ul>`}<//>`
}

/** What one person asked for and another one has to agree to. */
function Approvals({ of }) {
  if (!of.data?.approvals.length) return null
  return html`<section class="card flush" aria-label="Waits for a second person"><header><h2>Waits for a second person</h2></header><ul class="needs">${of.data.approvals.map(
    (
      one,
    ) => html`<li key=${one.id} class="go"><span class="sign"><${Icon} name="people" /></span><div><b>${one.by} asks to send ${sum(one.amount)} ${one.currency ?? ''} back</b><p class="soft small">${one.reason ? `${one.reason} · ` : ''}<${Link} class="mono" to="/operator/${one.subject.type === 'transfer' ? 'transfers' : 'orders'}/${one.subject.id}">${one.subject.id.slice(0, 12)}…<//> · until ${timeOf(one.expiresAt)}</p></div><span class="much"><${Money} amount=${one.amount} currency=${one.currency} /></span>
      <span class="acts"><${Act} no=${one.can.approve.why} class="primary" onClick=${() => agree(one, of.again)}>Agree…<//><${Act} onClick=${() => refuse(one, of.again)}>${one.isOwn ? 'Take back…' : 'Refuse…'}<//></span></li>`,
  )}</ul></section>`
}

function Quiet() {
  const last = tail.value.find(({ type }) => type === 'order.created' || type === 'craft.action.created')
  return html`<${Empty} icon="ok" title="Nothing needs you">Orders are delivered and money goes where it should.${last ? html` The last order came <${Age} at=${last.timestamp} />.` : null}<//>`
}

const WINDOWS = [
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
]

/** By how much it grew, in words and with an arrow: never by colour alone. */
const Change = ({ by, isGood = true }) =>
  by === null || by === undefined
    ? html`<small class="soft">nothing before to compare with</small>`
    : html`<small class="change ${by === 0 ? 'off' : by > 0 === isGood ? 'ok' : 'warn'}">${by > 0 ? '▲' : by < 0 ? '▼' : '='} ${Math.abs(Math.round(by * 1000) / 10)} %<span class="soft"> to the time before</span></small>`

function Figures({ of }) {
  return html`<${Panel} of=${of} label="Figures" height=${140} class="plain">${(data) => {
    const buckets = data.hours ?? data.days
    const inAll = (key) => buckets.map(({ rails }) => rails.reduce((all, rail) => all + Number(rail[key]), 0))
    return html`<div class="tiles">
      ${data.totals.length === 0 ? html`<div class="tile"><span>Gross</span><strong>0</strong><small class="soft">nothing was paid in this time</small></div>` : null}
      ${inOrder(data.totals)
        .slice(0, 2)
        .map(
          (total) =>
            html`<div class="tile"><span>Gross, <span class="rail ${railClass(total.protocol)}">${railName(total.protocol)}</span></span><strong title="${sum(total.gross)} ${total.currency}">${rounded(total.gross)} <small>${total.currency}</small></strong><${Spark} values=${buckets.map(({ rails }) => Number(rails.find(({ protocol, currency }) => protocol === total.protocol && currency === total.currency)?.gross ?? 0))} /><${Change} by=${total.change?.gross} /></div>`,
        )}
      <div class="tile"><span>Orders paid</span><strong>${number(data.totals.reduce((all, { orders }) => all + orders, 0))}</strong><${Spark} values=${buckets.map(({ orders }) => orders)} /><small class="soft">${number(data.totals.reduce((all, { refunds }) => all + (refunds ?? 0), 0))} refunded</small></div>
      <div class="tile"><span>Paid to delivered, p95</span><strong>${data.delivery.p95Ms === null ? '–' : span(data.delivery.p95Ms)}</strong><${Spark} values=${inAll('delivered')} /><small class="soft">${data.delivery.p50Ms === null ? 'nothing was delivered' : `half within ${span(data.delivery.p50Ms)}`}</small></div></div>`
  }}<//>`
}

function Sales({ of, period }) {
  const [chosen, setChosen] = useState(null)
  const currencies = of.data ? [...new Set(inOrder(of.data.totals).map(({ currency }) => currency))] : []
  const currency = currencies.includes(chosen) ? chosen : currencies[0]
  const tools = html`<div class="acts">${currencies.length > 1 ? currencies.map((name) => html`<button type="button" class="chip" aria-pressed=${name === currency} onClick=${() => setChosen(name)}>${name}</button>`) : null}</div>`
  return html`<${Panel} of=${of} title=${period === '24h' ? 'Sales by hour' : 'Sales by day'} tools=${tools} height=${230} empty=${({ totals }) => (totals.length === 0 ? html`<${Empty} icon="money" title="Nothing was sold in this time">As soon as somebody pays, it is here.<//>` : null)}>${(
    data,
  ) => {
    const buckets = data.hours ?? data.days
    const bars = buckets.map(({ at, isOver, rails }) => ({
      label: data.hours ? hourOf(at) : dayOf(at),
      title: data.hours ? `${hourOf(at)}` : dayOf(at),
      isOver,
      parts: rails
        .filter((rail) => rail.currency === currency)
        .map((rail) => ({ key: rail.protocol, value: Number(rail.gross) })),
    }))
    return html`<${Bars} bars=${bars} unit=${currency} label="Gross in ${currency}" />`
  }}<//>`
}

/** In the order of their colours. */
const inOrder = (totals) => totals.toSorted((a, b) => railClass(a.protocol).localeCompare(railClass(b.protocol)))

const STEP_NAMES = {
  asked: 'Asked (402)',
  paid: 'Paid',
  settled: 'Settled',
  delivered: 'Delivered',
  refunded: 'Refunded',
}

function Funnel({ of }) {
  return html`<${Panel} of=${of} title="From price to goods" tools=${html`<${Link} to="/operator/funnel" class="small">Funnel<//>`} height=${200}>${({
    funnel,
    refusals,
  }) => {
    const top = Math.max(...funnel.map(({ count }) => count), 1)
    return html`<${Steps} of=${top} rows=${funnel.map(({ step, count }, index) => ({ name: STEP_NAMES[step] ?? plain(step), value: count, text: number(count), tone: step === 'refunded' ? 'back' : '', note: index > 0 && step !== 'refunded' && funnel[index - 1].count > 0 ? `${Math.round((count / funnel[index - 1].count) * 1000) / 10} %` : '' }))} />
      ${refusals.length > 0 ? html`<p class="refusals"><span class="soft">Refused before payment</span> ${refusals.slice(0, 5).map(({ code, count }) => html`<${Link} to="/operator/funnel" class="chip"><code>${code}</code> <b>${count}</b><//>`)}</p>` : null}`
  }}<//>`
}

/** The newest events, as they come. */
export function Now({ rows = 9 }) {
  const shown = tail.value.slice(0, rows)
  return html`<section class="card" aria-label="Now"><header><h2>Now</h2><${Link} to="/operator/live" class="small">Live<//></header>
    ${
      shown.length === 0
        ? html`<${Empty} icon="pulse" title="Quiet">What happens next appears here by itself.<//>`
        : html`<ul class="tail">${shown.map((event) => {
            const { position, type, timestamp, subject, data } = event
            const [icon, tone] = eventWords(type)
            return html`<li key=${position}><time datetime=${timestamp} title=${utcOf(timestamp)}>${timeOf(timestamp)}</time><span class="status ${tone}" data-icon=${icon}>${eventTitle(event)}</span>${/^(ord|act)_/.test(subject) ? html`<${Id} of=${subject} to="/operator/orders/${subject}" />` : html`<span></span>`}<span class="end">${data?.price?.amount ? html`<${Money} amount=${data.price.amount} currency=${data.price.currency} />` : null}</span></li>`
          })}</ul>`
    }</section>`
}

function Checks({ of }) {
  return html`<${Panel} of=${of} title="Checks" tools=${html`<${Link} to="/operator/system" class="small">System<//>`} height=${220}>${({ checks }) => html`<ul class="checks">${checks.map(({ name, status, detail }) => html`<li><${Status} of=${status} words=${name} /><span class="soft">${detail}</span></li>`)}</ul>`}<//>`
}

export default function Home() {
  const period = route.value.searchParams.get('window') ?? '24h'
  const attention = useData('/operator/attention', { every: 30_000, when: ({ type }) => ABOUT.test(type) })
  // What people ask of each other stands in the audit log alone; no event tells of it.
  const approvals = useData('/operator/approvals', {
    every: 10_000,
    when: ({ type }) => /^(operator|refund)|^poll$/.test(type),
  })
  const summary = useData(`/operator/summary?window=${encodeURIComponent(period)}`, { every: 30_000 })
  const health = useData('/health/ready', {
    every: 30_000,
    when: ({ type }) => /down|back|paused|resumed|low|refilled/.test(type),
  })
  const past = useData('/events?last=9')
  useEffect(() => {
    if (past.data) recall(past.data.events)
  }, [past.data])
  const asked = approvals.data?.approvals.filter(({ can }) => can.approve.can).length ?? 0
  const count = (attention.data?.items.length ?? 0) + asked
  useEffect(() => {
    if (attention.data) waiting.value = count
  }, [attention.data, count])
  return html`<${Head} title=${count > 0 ? `(${count}) Needs you` : 'Needs you'} heading=${html`Needs you ${count > 0 ? html`<${Badge} tone="warn">${count}<//>` : null}`} />
    <div class="stack">${asked > 0 && attention.data?.items.length === 0 && !attention.fault ? null : html`<${Needs} of=${attention} />`}<${Approvals} of=${approvals} />
    <${Choice} label="Time" options=${WINDOWS} value=${period} to=${(id) => withQuery({ window: id === '24h' ? null : id })} />
    <${Figures} of=${summary} />
    <div class="two"><${Sales} of=${summary} period=${period} /><${Funnel} of=${summary} /></div>
    <div class="two"><${Now} /><${Checks} of=${health} /></div></div>`
}
