// One order as a picture: its way from the price to the goods, or back.
import { useLayoutEffect } from 'preact/hooks'
import { useData } from '../data.js'
import {
  Act,
  Age,
  copy,
  Empty,
  Facts,
  Failed,
  Head,
  html,
  Icon,
  Id,
  Link,
  Money,
  Notice,
  Rail,
  Status,
  When,
} from '../parts.js'
import { eventWords, number, plain, railName, STATUSES, short, span, timeOf, utcOf } from '../words.js'

// Loaded with the first deed: most visits only look.
const addNote = async (id, done) => (await import('../deeds.js')).addNote(id, done)
const decideDelivery = async (id, done) => (await import('../deeds.js')).decideDelivery(id, done)
const refund = async (id, done) => (await import('../deeds.js')).refund(id, done)
const retry = async (id, done) => (await import('../deeds.js')).retry(id, done)

/** What each event of an order means on its way. */
const STATIONS = {
  created: { icon: 'orders', tone: 'ok', title: 'Payment checked' },
  settled: { icon: 'money', tone: 'ok', title: 'Money moved' },
  submitted: { icon: 'moving', tone: 'ok', title: 'Delivery sent' },
  confirmed: { icon: 'ok', tone: 'ok', title: 'Delivered' },
  failed: { icon: 'bad', tone: 'bad', title: 'Not deliverable' },
  expired: { icon: 'off', tone: 'off', title: 'Payment never landed' },
  'refund.created': { icon: 'back', tone: 'back', title: 'Refund begun' },
  'refund.completed': { icon: 'back', tone: 'back', title: 'Money back' },
}
const AFTER = {
  settling: [['money', 'Money moves']],
  settled: [['ok', 'Delivery']],
  submitted: [['ok', 'Delivery']],
  failed: [['back', 'Money back']],
  refunding: [['back', 'Money back']],
}

/** The stations that were reached, then those that are to come. The 402 itself is not written down, so it has no time. */
function stationsOf({ order, events }) {
  const reached = events.flatMap(({ type, at }) => {
    const name = type.startsWith('refund.') ? type : type.split('.').at(-1)
    const station = STATIONS[name]
    return station ? [{ ...station, name, at, note: noteOf(name, order), tx: transactionOf(name, order) }] : []
  })
  const ahead = (AFTER[order.status] ?? []).map(([icon, title], index) => ({
    icon,
    title,
    tone: index === 0 ? 'go' : 'off',
    name: `next${index}`,
    isAhead: true,
  }))
  return [
    { icon: 'tag', tone: 'ok', title: 'Price asked', name: 'asked', note: '402, nothing taken' },
    ...reached,
    ...ahead,
  ]
}

function noteOf(name, { protocol, failure, refund }) {
  if (name === 'created') return `by ${railName(protocol)}`
  if (name === 'failed') return failure?.code
  if (name === 'refund.created') return refund?.by === 'automatic' ? 'by itself' : `by ${refund?.by}`
  return null
}

function transactionOf(name, { paymentTx, deliveryTx, refund, links }) {
  const found = {
    settled: [paymentTx, links?.payment],
    confirmed: [deliveryTx, null],
    'refund.completed': [refund?.transaction, links?.refund],
  }[name]
  return found?.[0] ? { hash: found[0], href: found[1] } : null
}

const SLOW_MS = 2_000

function Way({ of }) {
  const stations = stationsOf(of)
  return html`<ol class="way">${stations.map((station, index) => {
    const before = stations[index - 1]
    const ms = station.at && before?.at ? new Date(station.at).getTime() - new Date(before.at).getTime() : null
    return html`<li key=${station.name} class="${station.tone} ${station.isAhead ? 'ahead' : ''}">${ms === null ? null : html`<span class="gap ${ms > SLOW_MS ? 'slow' : ''}">${span(ms)}</span>`}<span class="dot"><${Icon} name=${station.icon} /></span><b>${station.title}</b>
      ${station.at ? html`<time class="soft small" datetime=${station.at} title=${utcOf(station.at)}>${timeOf(station.at, { exact: true })}</time>` : null}
      ${station.isAhead ? html`<small class="soft">to come</small>` : null}${station.note ? html`<small class="soft">${station.note}</small>` : null}${station.tx ? html`<${Id} of=${station.tx.hash} href=${station.tx.href} />` : null}</li>`
  })}</ol>`
}

/** Where the time went, in true length. What an operator did later is a second act, and would flatten all else. */
function Lengths({ of }) {
  const timed = stationsOf(of).filter(({ at }) => at)
  const own =
    of.order.refund && of.order.refund.by !== 'automatic'
      ? timed.filter(({ name }) => !name.startsWith('refund.'))
      : timed
  if (own.length < 2) return null
  const at = (station) => new Date(station.at).getTime()
  const from = at(own[0])
  const total = Math.max(at(own.at(-1)) - from, 1)
  const parts = own.slice(1).map((station, index) => ({
    name: `${own[index].title} → ${station.title.toLowerCase()}`,
    from: at(own[index]) - from,
    ms: at(station) - at(own[index]),
    tone: station.tone,
  }))
  return html`<div class="lengths" role="list" aria-label="Where the time went">${parts.map((part) => html`<div role="listitem" class=${part.tone}><span>${part.name}</span><svg viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true"><rect class="ground" width="1000" height="8" rx="3" /><rect class="fill" x=${Math.min((part.from / total) * 1000, 996)} width=${Math.max((part.ms / total) * 1000, 4)} height="8" rx="3" /></svg><b>${span(part.ms)}</b></div>`)}</div>`
}

/** The shop's own sentences about an order that did not simply go well. */
function Story({ of: { order, next, tries } }) {
  const last = tries.at(-1)
  if (order.failure)
    return html`<${Notice} tone=${order.status === 'refunded' ? 'back' : 'bad'}><b>${order.failure.detail}</b> <code>${order.failure.code}</code>${order.refund?.completedAt ? html` The money went back ${order.refund.by === 'automatic' ? 'by itself' : `by ${order.refund.by}`}.` : null}<//>`
  if (order.refund)
    return html`<${Notice} tone="back"><b>${order.refund.completedAt ? 'Refunded' : 'Being refunded'} by ${order.refund.by}.</b> ${order.refund.reason}<//>`
  if (order.isInDoubt)
    return html`<${Notice} tone="warn" icon="doubt"><b>Nobody knows yet how this ended.</b> ${last?.error ?? ''}<//>`
  if (last && next)
    return html`<${Notice} tone="warn"><b>It did not work yet.</b> ${last.error} ${next.isRunning ? 'It is being tried right now.' : html`The next try is <${Age} at=${next.at} />.`}<//>`
  return null
}

const Card = ({ title, note, children, tools }) =>
  html`<section class="card" aria-label=${title}><header><h2>${title}</h2>${note ? html`<small class="soft">${note}</small>` : null}${tools ?? null}</header>${children}</section>`

function Tries({ of: { tries, next } }) {
  if (tries.length === 0 && !next) return null
  return html`<${Card} title="Attempts" note=${tries.length === 0 ? 'none failed' : `${number(tries.reduce((all, { times }) => all + times, 0))} came to nothing`}>
    <ul class="rows">${tries.map(({ status, error, times, firstAt, lastAt }) => html`<li><span class="grow"><b>${error}</b><small class="block soft">while ${(STATUSES[status]?.[2] ?? status).toLowerCase()}${times > 1 ? html`, ${times} times from ${timeOf(firstAt)} to ${timeOf(lastAt)}` : null}</small></span><span class="end soft small"><${When} at=${lastAt} /></span></li>`)}
    ${next ? html`<li><span class="status go" data-icon="moving">${next.isRunning ? 'Being worked on now' : 'Next try'}</span><span class="end soft small"><${When} at=${next.at} /></span></li>` : null}</ul><//>`
}

/** Whoever is at the end of the way no longer looks for what was sent on it. */
const END = new Set(['confirmed', 'refunded', 'expired'])
const isNews = (outcome, status) => outcome && !(outcome === 'not seen yet' && END.has(status))

function Sends({ sends, status }) {
  if (sends.length === 0) return null
  return html`<${Card} title="Signed transactions" note="${sends.length}">
    <ul class="rows">${sends.map(
      ({
        step,
        chainId,
        signer,
        nonce,
        transactions,
        landed,
        signedAt,
        outcome,
      }) => html`<li><span class="grow"><b>${plain(step)}</b>${landed ? html` <small class="soft">block ${number(landed.block)}</small>` : isNews(outcome, status) ? html` <small class="soft">${outcome}</small>` : null}<small class="block soft">${short(signer)} · nonce ${nonce} · chain ${chainId}${signedAt ? html` · ${timeOf(signedAt, { exact: true })}` : null}</small></span>
      <span class="end stacked">${transactions.map(({ hash, link }) => html`<span><${Id} of=${hash} href=${link} /></span>`)}</span></li>`,
    )}</ul><//>`
}

function Told({ view }) {
  const body = view?.body ?? view
  const words = body?.next?.detail ?? body?.detail
  return html`<${Card} title="What the buyer sees">${words ? html`<blockquote>${words}</blockquote>` : null}
    ${body ? html`<details><summary>The whole answer of <code>/payments/…</code></summary><pre tabindex="0" aria-label="Answer to the buyer">${JSON.stringify(body, null, 2)}</pre></details>` : html`<p class="soft">Not told by this shop.</p>`}<//>`
}

function Webhooks({ webhooks }) {
  return html`<${Card} title="Webhooks">${webhooks.length === 0 ? html`<p class="soft">Nobody was to be told of this order.</p>` : html`<ul class="rows">${webhooks.map(({ endpointId, url, type, state, attempts, answers, nextAt }) => html`<li><span class="grow"><${Status} of=${state} words=${eventWords(type)[2]} /><small class="block soft"><${Link} to="/operator/webhooks/${endpointId}">${url}<//></small></span><span class="end soft small">${answers.at(-1) ? html`${answers.at(-1).status ?? 'no answer'} in ${span(answers.at(-1).ms)}` : null}${attempts > 1 ? html`, try ${attempts}` : null}${nextAt ? html`, again <${Age} at=${nextAt} />` : null}</span></li>`)}</ul>`}<//>`
}

function Notes({ of, again }) {
  const { notes, can, order } = of
  return html`<${Card} title="Notes" tools=${html`<${Act} icon="plus" class="quiet" no=${can?.note?.why} onClick=${() => addNote(order.orderId, again)}>Add<//>`}>${(notes ?? []).length === 0 ? html`<p class="soft">None. A note tells the next person what you found out.</p>` : html`<ul class="rows">${notes.map(({ at, by, text }) => html`<li><span class="grow"><span class="pre">${text}</span><small class="block soft">${by}, <${When} at=${at} /></small></span></li>`)}</ul>`}<//>`
}

function OrderFacts({ order }) {
  return html`<${Card} title="Facts"><${Facts} rows=${[
    ['Order', html`<${Id} of=${order.orderId} />`],
    ['Payer', html`<${Id} of=${order.payer} to="/operator/orders?payer=${order.payer}" />`],
    ['Paid to', html`<${Id} of=${order.payTo} />`],
    [
      'Payment',
      order.paymentTx
        ? html`<${Id} of=${order.paymentTx} href=${order.links?.payment} />`
        : html`<span class="soft">did not move yet</span>`,
    ],
    ['Protocol', html`<${Rail} name=${order.protocol} /> <span class="soft">on ${order.network}</span>`],
    ['Good', html`${plain(order.good)}${order.item ? html` <code>${order.item}</code>` : null}`],
    [
      'For',
      order.player
        ? html`<${Id} of=${order.player} to="/operator/orders?player=${encodeURIComponent(order.player)}" />`
        : null,
    ],
    ['Asked for', html`<code>${JSON.stringify(order.input)}</code>`],
    ['Flow', html`<${Id} of=${order.flowId} />`],
    order.receipt
      ? [
          'Receipt',
          html`<button type="button" class="quiet" data-icon="copy" onClick=${() => copy(order.receipt, 'The receipt is copied')}>Copy the signed receipt</button>`,
        ]
      : null,
    order.refund
      ? [
          'Refund',
          html`<${Money} amount=${order.refund.amount} currency=${order.currency} /> to <${Id} of=${order.refund.to} />`,
        ]
      : null,
  ].filter((row) => row && row[1] !== null)} />
    ${order.result ? html`<details><summary>What was delivered</summary><pre tabindex="0" aria-label="What was delivered">${JSON.stringify(order.result, null, 2)}</pre></details>` : null}<//>`
}

function Related({ related }) {
  if (!related?.length) return null
  return html`<${Card} title="Also by this payer"><ul class="rows">${related.map(({ orderId, by, status, amount, currency, createdAt }) => html`<li><${Status} of=${status} /><${Id} of=${orderId} to="/operator/orders/${orderId}" />${by === 'flow' ? html`<small class="soft">same flow</small>` : null}<span class="end"><${Money} amount=${amount} currency=${currency} /> <small class="soft"><${Age} at=${createdAt} /></small></span></li>`)}</ul><//>`
}

export default function Order({ id }) {
  const whole = useData(`/operator/orders/${encodeURIComponent(id)}`, {
    when: ({ subject, type }) =>
      type === 'poll' || subject === (whole.data?.order.orderId ?? id) || type === 'operator.acted',
  })
  const { data, fault, again } = whole
  const crumbs = html`<${Link} to="/operator/orders">Orders<//><span aria-hidden="true">/</span><${Id} of=${data?.order.orderId ?? id} />`
  useLayoutEffect(() => {
    const keys = (event) => {
      const { key } = event.detail
      if (key === 'c') copy(location.href, 'The address is copied')
      else if (key === 'r' && (data?.can?.refund?.can ?? false)) refund(data.order.orderId, again)
      else if (key === 'n' && (data?.can?.note?.can ?? false)) addNote(data.order.orderId, again)
      else return
      event.preventDefault()
    }
    const main = document.getElementById('main')
    main.addEventListener('rowkey', keys)
    return () => main.removeEventListener('rowkey', keys)
  }, [data])
  if (!data && fault?.status === 404)
    return html`<${Head} title="Nothing has this name" crumbs=${crumbs} /><section class="card"><${Empty} icon="search" title="The shop knows no order ${short(id)}" acts=${html`<${Link} class="button" to="/operator/orders">All orders<//><${Link} class="button" to="/operator/transfers">Money without an order<//>`}>It may be money that came without a purchase, or belong to another shop.<//></section>`
  if (!data)
    return html`<${Head} title="Order" crumbs=${crumbs} />${fault ? html`<${Failed} fault=${fault} again=${again} />` : html`<div class="skeleton tall" aria-hidden="true"></div>`}`
  const { order, can, sends, webhooks, related } = data
  const took = order.settledAt ? new Date(data.events.at(-1).at).getTime() - new Date(order.createdAt).getTime() : null
  const title = `${order.quantity > 1 ? `${order.quantity} × ` : ''}${order.title ?? plain(order.good)}`
  return html`<${Head} title=${title} crumbs=${crumbs}><span class="big"><${Money} amount=${order.amount} currency=${order.currency} /></span><//>
    <div class="under"><${Status} of=${order.status} /><span class="soft">${order.player ? html`for <b>${short(order.player)}</b>, ` : null}<${When} at=${order.createdAt} /></span>
      <span class="acts"><${Act} icon="note" no=${can?.note?.why} onClick=${() => addNote(order.orderId, again)}>Note<//>${END.has(order.status) ? null : html`<${Act} icon="refresh" no=${can?.retry?.why} onClick=${() => retry(order.orderId, again)}>Try now<//>`}${can?.decide?.can ? html`<${Act} class="primary" onClick=${() => decideDelivery(order.orderId, again)}>Decide…<//>` : null}${order.status === 'refunded' || order.status === 'expired' ? null : html`<${Act} icon="back" no=${can?.refund?.why} onClick=${() => refund(order.orderId, again)}>Refund…<//>`}</span></div>
    <div class="stack">${fault ? html`<${Failed} fault=${fault} again=${again} at=${whole.at} />` : null}<${Story} of=${data} />
    <${Card} title="What happened" note=${took === null ? null : order.refund && order.refund.by !== 'automatic' ? null : `${span(took)} from payment to end`}><${Way} of=${data} /><${Lengths} of=${data} /><//>
    <div class="half"><div class="stack"><${Tries} of=${data} /><${Sends} sends=${sends} status=${order.status} /><${Webhooks} webhooks=${webhooks} /><${Notes} of=${data} again=${again} /></div>
      <div class="stack"><${Told} view=${data.buyerView} /><${OrderFacts} order=${order} /><${Related} related=${related} /></div></div></div>`
}
