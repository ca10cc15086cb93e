// What came in, what went back, and how the books stand against the chain. Each currency by itself.
import { useState } from 'preact/hooks'
import { Bars, Steps } from '../charts.js'
import { useData } from '../data.js'
import { Dialog, Refusal, useDeed } from '../dialog.js'
import { closeDialog, openDialog } from '../over.js'
import {
  Act,
  Choice,
  Csv,
  Empty,
  Facts,
  Head,
  html,
  Link,
  Notice,
  Panel,
  Rail,
  Rows,
  railClass,
  Status,
  Money as Sum,
  When,
} from '../parts.js'
import { route, tell, withQuery } from '../shop.js'
import { dayOf, number, plain, railName, sum } from '../words.js'

const SPANS = [
  ['7', '7 days'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', 'A year'],
]
const WAYS = [
  ['day', 'By day'],
  ['rail', 'By protocol'],
  ['good', 'By good'],
]
const DAY = 86_400_000

/** Days of UTC, as the books keep them. */
const startOf = (days) => new Date(Math.floor(Date.now() / DAY) * DAY - (days - 1) * DAY).toISOString()

const counted = (orders) => `${number(orders)} ${orders === 1 ? 'order' : 'orders'}`

const add = (rows, name) => rows.reduce((all, row) => all + Math.round(Number(row[name]) * 1e6), 0) / 1e6

export default function Money() {
  const params = route.value.searchParams
  const days = Number(params.get('days') ?? 7)
  const way = params.get('by') ?? 'day'
  const address = `/operator/money?by=${way}&from=${encodeURIComponent(startOf(days))}`
  const money = useData(address, { every: 60_000 })
  const { data } = money
  // In the order of the receiving accounts, which is that of the protocols on every screen.
  const currencies = data
    ? [...new Set([...data.accounts, ...data.rows, ...data.float].map(({ currency }) => currency).filter(Boolean))]
    : []
  const [chosen, setChosen] = useState(null)
  const currency = currencies.includes(chosen) ? chosen : currencies[0]
  const rows = data?.rows.filter((row) => row.currency === currency) ?? []
  return html`<${Head} title="Money"><${Act} role="support" icon="refresh" onClick=${() => openDialog(Reconcile, { done: money.again })}>Compare with the chain<//><${Csv} href="${address}&format=csv" name="money.csv" /><//>
    <div class="stack"><div class="split"><${Choice} label="Time" options=${SPANS} value=${String(days)} to=${(id) => withQuery({ days: id === '7' ? null : id })} />
      <${Choice} label="Grouped" options=${WAYS} value=${way} to=${(id) => withQuery({ by: id === 'day' ? null : id })} />
      ${currencies.length > 1 ? html`<div class="chips" role="group" aria-label="Currency">${currencies.map((name) => html`<button type="button" class="chip" aria-pressed=${name === currency} onClick=${() => setChosen(name)}>${name}</button>`)}</div>` : null}</div>
    <${Panel} of=${money} label="Totals" height=${96} class="plain">${() => html`<div class="tiles three">
      <div class="tile"><span>Gross</span><strong>${sum(add(rows, 'gross').toFixed(2))} <small>${currency}</small></strong><small class="soft">${counted(add(rows, 'orders'))}</small></div>
      <div class="tile"><span>Refunded</span><strong>${sum(add(rows, 'refunded').toFixed(2))} <small>${currency}</small></strong><small class="soft">${counted(add(rows, 'refunds'))}</small></div>
      <div class="tile"><span>Net</span><strong>${sum(add(rows, 'net').toFixed(2))} <small>${currency}</small></strong><small class="soft">in ${days === 365 ? 'a year' : `${days} days`}, by days of UTC</small></div></div>`}<//>
    <${Panel} of=${money} title=${WAYS.find(([id]) => id === way)[1]} note=${currency} height=${260} empty=${() => (rows.length === 0 ? html`<${Empty} icon="money" title="Nothing moved in this time">Sales and refunds appear on the day on which their money moved.<//>` : null)}>${() => html`${
      way === 'day'
        ? html`<${ByDay} rows=${rows} days=${days} currency=${currency} />`
        : html`<${Steps} rows=${byKey(rows)
            .slice(0, 12)
            .map(({ title, key, gross }) => ({
              name: way === 'rail' ? railName(key) : title,
              value: gross,
              text: sum(gross.toFixed(2)),
              tone: way === 'rail' ? railClass(key) : '',
            }))} />`
    }
      <${Rows} rows=${rows.toReversed()} columns=${columnsOf(way)} label="Rows" keyOf=${({ key, protocol }) => `${key} ${protocol}`} />`}<//>
    <div class="half"><${Float} of=${money} /><${Tills} of=${money} /></div></div>`
}

function columnsOf(way) {
  return [
    {
      name: way === 'day' ? 'Day' : way === 'rail' ? 'Protocol' : 'Good',
      isHead: true,
      cell: ({ key, title }) =>
        way === 'rail'
          ? railName(key)
          : way === 'day'
            ? html`<${Link} to="/operator/orders?since=${key}T00:00:00Z&before=${new Date(Date.parse(key) + DAY).toISOString().slice(0, 10)}T00:00:00Z">${key}<//>`
            : title,
    },
    { name: 'Protocol', className: 'off-phone', cell: ({ protocol }) => html`<${Rail} name=${protocol} />` },
    { name: 'Orders', isNumber: true, phone: 'orders', cell: ({ orders }) => number(orders) },
    {
      name: 'Gross',
      isNumber: true,
      className: 'lead',
      cell: ({ gross, currency }) => html`<${Sum} amount=${gross} currency=${currency} />`,
    },
    {
      name: 'Refunded',
      isNumber: true,
      phone: 'back',
      cell: ({ refunded, currency }) =>
        Number(refunded) === 0
          ? html`<span class="soft">0</span>`
          : html`<${Sum} amount=${refunded} currency=${currency} />`,
    },
    {
      name: 'Net',
      isNumber: true,
      phone: 'net',
      cell: ({ net, currency }) => html`<${Sum} amount=${net} currency=${currency} />`,
    },
  ]
}

function byKey(rows) {
  return [...Map.groupBy(rows, ({ key }) => key)]
    .map(([key, group]) => ({ key, title: group[0].title, gross: add(group, 'gross') }))
    .toSorted((a, b) => b.gross - a.gross)
}

function ByDay({ rows, days, currency }) {
  const byDay = Map.groupBy(rows, ({ key }) => key)
  const from = Date.parse(startOf(days))
  // More days than fit are weeks.
  const step = days > 60 ? 7 : 1
  const bars = Array.from({ length: Math.ceil(days / step) }, (_, index) => {
    const at = from + index * step * DAY
    const inIt = Array.from(
      { length: step },
      (_, day) => byDay.get(new Date(at + day * DAY).toISOString().slice(0, 10)) ?? [],
    ).flat()
    return {
      label: dayOf(at + DAY / 2),
      title: step === 1 ? dayOf(at + DAY / 2) : `Week from ${dayOf(at + DAY / 2)}`,
      isOver: at + step * DAY <= Date.now(),
      parts: inIt.map(({ protocol, gross }) => ({ key: protocol, value: Number(gross) })),
    }
  })
  return html`<${Bars} bars=${bars} unit=${currency} label="Gross by day in ${currency}" />`
}

/** What the treasury could send back, against what it might have to. */
function Float({ of }) {
  return html`<${Panel} of=${of} title="Float against liabilities" tools=${html`<${Link} to="/operator/wallets" class="small">Wallets<//>`}>${({
    float,
    liabilities,
    held,
    accounts,
  }) => {
    const owedOn = (network) =>
      liabilities.filter((one) => sameChain(one.network, network)).reduce((all, { amount }) => all + Number(amount), 0)
    return html`${
      float.length === 0
        ? html`<p class="soft">The treasury was not seen yet.</p>`
        : float.map((one) => {
            const owed = owedOn(one.network)
            const currency =
              one.currency ??
              [...accounts, ...liabilities].find(({ network }) => sameChain(network, one.network))?.currency
            return html`<div class="gauge"><div class="titled"><span><${Sum} amount=${one.amount} currency=${currency} /> <small class="soft">on ${one.network}</small></span><${Status} of=${Number(one.amount) >= owed ? 'ok' : 'fail'} words=${Number(one.amount) >= owed ? 'covers all that is open' : 'does not cover what is open'} /></div>
        <${Steps} of=${Math.max(Number(one.amount), owed, 1)} rows=${[{ name: 'Float', value: Number(one.amount), text: sum(one.amount), tone: 'ok' }, { name: 'Owed', value: owed, text: sum(owed.toFixed(2)), tone: 'warn' }]} /><small class="asof">as of <${When} at=${one.asOf} /></small></div>`
          })
    }
    ${held.length > 0 ? html`<${Facts} rows=${held.map(({ amount, currency, count }) => ['Held', html`<${Link} to="/operator/transfers?state=held"><${Sum} amount=${amount} currency=${currency} /> in ${number(count)} payments<//>`])} />` : null}`
  }}<//>`
}

const sameChain = (one, other) => one.split(':')[1] === other.split(':')[1]

function Tills({ of }) {
  return html`<${Panel} of=${of} title="Chain against books">${({ accounts }) => (accounts.length === 0 ? html`<p class="soft">Not compared yet.</p>` : html`<ul class="rows">${accounts.map(({ network, payTo, currency, difference, asOfBlock, at }) => html`<li><span class="grow"><b>${currency}</b> <small class="soft">on ${network}</small><small class="block soft mono">${payTo}</small></span><span class="end stacked"><${Status} of=${Number(difference) === 0 ? 'ok' : 'fail'} words=${Number(difference) === 0 ? 'no difference' : `differs by ${sum(difference)}`} /><small class="soft">block ${number(asOfBlock)}, <${When} at=${at} /></small></span></li>`)}</ul>`)}<//>`
}

/** Asks the chain, so it may take a while; nothing is changed by it. */
function Reconcile({ done }) {
  const { run, fault, isBusy } = useDeed()
  const [accounts, setAccounts] = useState(null)
  const items =
    accounts?.flatMap((account) => account.items.map((item) => ({ ...item, account: account.account }))) ?? []
  return html`<${Dialog} title="Compare the books with the chain" lead="Reads what reached each receiving account on the chain since the last comparison, and names every difference.">
    <${Refusal} fault=${fault} />
    ${
      accounts === null
        ? null
        : html`<ul class="rows">${accounts.map((account) => html`<li><span class="grow"><b>${account.rail ?? account.account}</b><small class="block soft">blocks ${number(account.blocks.from)} to ${number(account.blocks.to)}, ${number(account.arrived.count)} payments</small></span><span class="end"><${Status} of=${account.difference === '0' ? 'ok' : 'fail'} words=${account.difference === '0' ? 'no difference' : 'differs'} /></span></li>`)}</ul>
      ${items.length === 0 ? html`<${Notice} tone="ok">The books say what the chain says.<//>` : html`<ul class="rows">${items.map((item) => html`<li><b>${plain(item.kind ?? 'difference')}</b><span class="grow mono">${item.transaction ?? item.orderId ?? ''}</span><span>${item.amount}</span></li>`)}</ul>`}`
    }
    <footer><button type="button" onClick=${closeDialog}>Close</button><button type="button" class="primary" disabled=${isBusy} onClick=${() =>
      run(async () => {
        setAccounts((await tell('POST', '/operator/reconcile')).accounts)
        done()
      })}>${isBusy ? 'Comparing…' : accounts ? 'Once more' : 'Compare now'}</button></footer><//>`
}
