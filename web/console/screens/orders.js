// The book of purchases. The filter is the address; rows never jump, new ones announce themselves.
import { useEffect, useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Dialog, Field } from '../dialog.js'
import { heard } from '../live.js'
import { closeDialog, openDialog } from '../over.js'
import { Choice, Csv, Empty, Head, html, Id, Link, Money, Notice, Panel, Rail, Rows, Status, When } from '../parts.js'
import { go, route, withQuery } from '../shop.js'
import { number, plain, short, sum, timeOf } from '../words.js'

const FILTERS = ['status', 'open', 'rail', 'surface', 'good', 'item', 'player', 'payer', 'since', 'before']
const NAMES = {
  rail: 'Protocol',
  surface: 'Surface',
  good: 'Good',
  item: 'Item',
  player: 'For',
  payer: 'Payer',
  since: 'From',
  before: 'Before',
}
const VIEWS = [
  ['', 'All'],
  ['open', 'Open'],
  ['confirmed', 'Delivered'],
  ['refunded', 'Refunded'],
  ['failed', 'Failed'],
  ['expired', 'Expired'],
]

/** The page's own query, as the route takes it. */
function queryOf(params, more = {}) {
  const query = new URLSearchParams()
  for (const name of FILTERS) if (params.get(name)) query.set(name, params.get(name))
  for (const [name, value] of Object.entries(more)) if (value) query.set(name, value)
  return query
}

const COLUMNS = [
  {
    name: 'What',
    isHead: true,
    cell: (order) =>
      html`<${Link} to="/operator/orders/${order.orderId}">${order.quantity > 1 ? `${order.quantity} × ` : ''}${order.title ?? plain(order.good)}<//>`,
  },
  {
    name: 'Status',
    className: '',
    cell: (order) =>
      html`<${Status} of=${order.isInDoubt && order.status === 'settling' ? 'in_doubt' : order.status} />`,
  },
  {
    name: 'For',
    phone: 'for',
    className: 'soft late',
    cell: ({ player }) => (player ? html`<span title=${player}>${short(player)}</span>` : html`<span>–</span>`),
  },
  {
    name: 'Amount',
    isNumber: true,
    className: 'lead',
    cell: ({ amount, currency }) => html`<${Money} amount=${amount} currency=${currency} />`,
  },
  { name: 'Protocol', className: 'off-phone', cell: ({ protocol }) => html`<${Rail} name=${protocol} />` },
  {
    name: 'Payer',
    className: 'off-phone',
    cell: ({ payer }) => html`<${Id} of=${payer} to=${withQuery({ payer, cursor: null })} />`,
  },
  { name: 'Time', className: 'n', isNumber: true, cell: ({ createdAt }) => html`<${When} at=${createdAt} />` },
]

export default function Orders() {
  const { searchParams: params } = route.value
  const query = queryOf(params)
  const first = `/operator/orders?${queryOf(params, { totals: 'true', cursor: params.get('cursor') })}`
  const book = useData(first)
  const [fresh, setFresh] = useState(0)
  useEffect(() => setFresh(0), [first])
  useEffect(
    () =>
      heard(({ type }) => {
        if (/^(order|craft\.action)\.created$/.test(type)) setFresh((count) => count + 1)
      }),
    [],
  )
  const view = params.get('open') === 'true' ? 'open' : (params.get('status') ?? '')
  const chips = Object.keys(NAMES).filter((name) => params.get(name))
  const byStatus = book.data?.totals?.byStatus ?? {}
  const isFinal = new Set(['confirmed', 'refunded', 'expired'])
  const openCount = Object.entries(byStatus).reduce(
    (all, [status, count]) => (isFinal.has(status) ? all : all + count),
    0,
  )
  const counts = view === '' && book.data?.totals?.isWhole ? { open: openCount || null, ...byStatus } : {}
  const rows = book.data?.orders ?? []
  return html`<${Head} title="Orders"><button type="button" data-icon="filter" onClick=${() => openDialog(Filter)}>Filter</button><${Csv} href="/operator/orders?${queryOf(params, { format: 'csv' })}" name="orders.csv" /><//>
    <${Choice} label="Status" value=${view} options=${VIEWS.map(([id, words]) => [id, words, counts[id]])} to=${(id) => withQuery({ status: id === 'open' ? null : id, open: id === 'open' ? 'true' : null, cursor: null })} />
    ${chips.length > 0 ? html`<div class="chips" role="group" aria-label="Filters">${chips.map((name) => html`<${Link} class="chip on" to=${withQuery({ [name]: null, cursor: null })} aria-label="Remove the filter ${NAMES[name]}: ${params.get(name)}">${NAMES[name]}: ${/since|before/.test(name) ? timeOf(params.get(name)) : short(params.get(name))} ✕<//>`)}<${Link} class="small" to="/operator/orders">Clear<//></div>` : null}
    ${book.data?.totals?.openBefore ? html`<${Notice} tone="warn"><span>${number(book.data.totals.openBefore)} older orders are still open. <${Link} to=${withQuery({ since: null, open: 'true', status: null })}>Show them<//></span><//>` : null}
    <div role="status">${
      fresh > 0 && !params.get('cursor')
        ? html`<button type="button" class="fresh" onClick=${() => {
            setFresh(0)
            book.again()
          }}>${fresh} new, show</button>`
        : null
    }</div>
    <${Panel} of=${book} label="Orders" flush=${true} height=${420} empty=${(data) => (data.orders.length > 0 ? null : query.size > 0 ? html`<${Empty} icon="filter" title="No order is like that" acts=${html`<${Link} class="button" to="/operator/orders">Show all<//>`}>Nothing matches these filters.<//>` : html`<${Empty} icon="orders" title="No orders yet" acts=${html`<${Link} class="button" to="/operator/catalog">Look at the catalog<//>`}>The first purchase appears here by itself.<//>`)}>${(
      data,
    ) => html`<${Rows} rows=${rows} columns=${COLUMNS} label="Orders, newest first" keyOf=${({ orderId }) => orderId} to=${({ orderId }) => `/operator/orders/${orderId}`} />
      <div class="foot"><span>${number(rows.length)} shown${data.totals ? html` of ${data.totals.isWhole ? '' : 'more than '}${number(data.totals.orders)}` : null}</span>
        ${data.totals?.byCurrency.map(({ paid, refunded, currency, asset }) => html`<span key=${asset}><${Money} amount=${paid} currency=${currency} />${Number(refunded) > 0 ? html` <small>of which ${sum(refunded)} back</small>` : null}</span>`)}
        <span class="acts">${params.get('cursor') ? html`<${Link} class="button" to=${withQuery({ cursor: null })}>Newest<//>` : null}${data.next ? html`<${Link} class="button" to=${withQuery({ cursor: data.next })}>Older<//>` : null}</span></div>`}<//>`
}

/** More than a row of chips has room for. */
function Filter() {
  const { searchParams: params } = route.value
  const [fields, setFields] = useState(
    Object.fromEntries(Object.keys(NAMES).map((name) => [name, localOf(name, params.get(name) ?? '')])),
  )
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }))
  return html`<${Dialog} title="Filter orders"><form class="bare" onSubmit=${(event) => {
    event.preventDefault()
    const changes = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        value === '' ? null : /since|before/.test(name) ? new Date(value).toISOString() : value.trim(),
      ]),
    )
    closeDialog()
    go(withQuery({ ...changes, cursor: null }))
  }}>
    <div class="row2"><${Field} label="Payer" name="payer" value=${fields.payer} onInput=${set('payer')} placeholder="0x…" spellcheck=${false} /><${Field} label="For" name="player" value=${fields.player} onInput=${set('player')} placeholder="nickname or wallet" /></div>
    <div class="row2"><${Field} label="Item or lot" name="item" value=${fields.item} onInput=${set('item')} placeholder="keys:5" /><${Field} label="Good" name="good" value=${fields.good} onInput=${set('good')} placeholder="shopItem" /></div>
    <div class="row2"><${Field} label="Protocol" name="rail" value=${fields.rail} onInput=${set('rail')} /><${Field} label="Surface" name="surface" value=${fields.surface} onInput=${set('surface')} placeholder="shop" /></div>
    <div class="row2"><${Field} label="From" name="since" type="datetime-local" value=${fields.since} onInput=${set('since')} /><${Field} label="Before" name="before" type="datetime-local" value=${fields.before} onInput=${set('before')} /></div>
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary">Show</button></footer></form><//>`
}

/** A moment as the browser's field wants it: local, without a zone. */
function localOf(name, value) {
  if (!/since|before/.test(name) || value === '') return value
  const date = new Date(value)
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
