// Who did what. It can only be read, and each entry holds the digest of the one before.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Dialog, Field } from '../dialog.js'
import { closeDialog, openDialog, toast } from '../over.js'
import { Badge, Csv, Empty, Facts, Head, html, Id, Link, Panel, Rows, When } from '../parts.js'
import { ask, go, route, withQuery } from '../shop.js'
import { number, plain, short } from '../words.js'

const FILTERS = [
  ['who', 'Who'],
  ['deed', 'Deed'],
  ['about', 'About'],
]

/** Where the thing that was changed is. */
function addressOf({ kind, id }) {
  if (kind === 'order') return `/operator/orders/${id}`
  if (kind === 'transfer') return `/operator/transfers/${id}`
  if (kind === 'webhook') return `/operator/webhooks/${id}`
  if (kind === 'operator' || kind === 'session') return '/operator/people'
  return null
}

export default function Audit() {
  const params = route.value.searchParams
  const query = new URLSearchParams(FILTERS.flatMap(([name]) => (params.get(name) ? [[name, params.get(name)]] : [])))
  const page = new URLSearchParams(query)
  if (params.get('cursor')) page.set('cursor', params.get('cursor'))
  const log = useData(`/operator/audit?${page}`, {
    // Not every entry is an event, too.
    every: 30_000,
    when: ({ type }) => type === 'operator.acted',
  })
  const columns = [
    {
      name: 'Deed',
      isHead: true,
      cell: (entry) =>
        html`<button type="button" class="plain-link" onClick=${() => openDialog(Entry, { entry })}>${plain(entry.deed)}</button>`,
    },
    {
      name: 'Who',
      className: 'lead',
      cell: ({ who, role }) =>
        html`<${Link} to=${withQuery({ who, cursor: null })}>${who}<//> <small class="soft">${role}</small>`,
    },
    {
      name: 'About',
      cell: ({ about }) =>
        html`<small class="soft">${about.kind}</small> <${Id} of=${about.id} to=${addressOf(about)} />`,
    },
    {
      name: 'Reason',
      className: 'wrap soft whole',
      cell: ({ reason }) => reason ?? html`<span class="off-phone">–</span>`,
    },
    { name: 'Via', className: 'off-phone', cell: ({ via }) => html`<${Badge}>${via}<//>` },
    { name: 'From', className: 'off-phone mono', cell: ({ address }) => address },
    { name: 'Time', isNumber: true, cell: ({ at }) => html`<${When} at=${at} />` },
  ]
  const chips = FILTERS.filter(([name]) => params.get(name))
  return html`<${Head} title="Audit"><button type="button" data-icon="filter" onClick=${() => openDialog(Filter)}>Filter</button><button type="button" data-icon="audit" onClick=${verify}>Verify the chain</button><${Csv} href="/operator/audit?${new URLSearchParams([...query, ['format', 'csv']])}" name="audit.csv" /><//>
    ${chips.length > 0 ? html`<div class="chips" role="group" aria-label="Filters">${chips.map(([name, words]) => html`<${Link} class="chip on" to=${withQuery({ [name]: null, cursor: null })} aria-label="Remove the filter ${words}">${words}: ${short(params.get(name))} ✕<//>`)}</div>` : null}
    <${Panel} of=${log} label="Audit log" flush=${true} height=${360} empty=${({ entries }) => (entries.length === 0 ? html`<${Empty} icon="audit" title="Nothing was done yet">Every change that a person makes stands here, for ever.<//>` : null)}>${(
      data,
    ) => html`<${Rows} rows=${data.entries} columns=${columns} label="Audit log, newest first" keyOf=${({ position }) => position} act=${(entry) => openDialog(Entry, { entry })} />
      <div class="foot"><span>${number(data.entries.length)} shown</span><span class="acts">${params.get('cursor') ? html`<${Link} class="button" to=${withQuery({ cursor: null })}>Newest<//>` : null}${data.next ? html`<${Link} class="button" to=${withQuery({ cursor: data.next })}>Older<//>` : null}</span></div>`}<//>`
}

async function verify() {
  try {
    let verdict = { isWhole: true, entries: 0, head: null, faults: [] }
    // One answer reads so much and no more.
    for (let after = ''; after !== null; ) {
      const part = await ask(`/operator/audit/verify${after && `?after=${after}`}`)
      const faults = [...verdict.faults, ...part.faults]
      verdict = { isWhole: faults.length === 0, entries: verdict.entries + part.entries, head: part.head, faults }
      after = part.next
    }
    openDialog(Verdict, { verdict })
  } catch (error) {
    toast(error.message, 'warn')
  }
}

function Verdict({ verdict: { isWhole, entries, head, faults } }) {
  return html`<${Dialog} title=${isWhole ? 'The log is whole' : 'The log was changed'} lead="${number(entries)} entries were read, each against the digest of the one before.">
    ${isWhole ? null : html`<ul class="rows">${faults.map(({ position, kind }) => html`<li><b>${position}</b><span>${plain(kind)}</span></li>`)}</ul>`}
    <${Facts} rows=${[['Its end', html`entry ${number(head.position)}`], ['Digest', html`<${Id} of=${head.hash} whole=${true} />`]]} /><p class="soft small">Note this digest elsewhere: whoever changes the log later cannot make it end like this again.</p><//>`
}

function Entry({ entry }) {
  const names = [...new Set([...Object.keys(entry.before ?? {}), ...Object.keys(entry.after ?? {})])]
  const text = (value) =>
    value === null || value === undefined ? 'none' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  const to = addressOf(entry.about)
  return html`<${Dialog} class="side-sheet" title=${plain(entry.deed)} lead=${html`by ${entry.who}, <${When} at=${entry.at} />`}>
    <${Facts} rows=${[['About', html`${entry.about.kind} <${Id} of=${entry.about.id} to=${to} />`], ['Role', entry.role], ['Via', entry.via], ['From', html`<code>${entry.address}</code>`], entry.reason ? ['Reason', entry.reason] : null, ['Entry', number(entry.position)], ['Digest', html`<${Id} of=${entry.hash} />`]]} />
    ${names.length > 0 ? html`<div class="sheet" tabindex="0" role="group" aria-label="Before and after"><table><thead><tr><th scope="col">What</th><th scope="col">Before</th><th scope="col">After</th></tr></thead><tbody>${names.map((name) => html`<tr><th scope="row">${plain(name)}</th><td class="wrap">${text(entry.before?.[name])}</td><td class="wrap">${text(entry.after?.[name])}</td></tr>`)}</tbody></table></div>` : null}<//>`
}

function Filter() {
  const params = route.value.searchParams
  const [fields, setFields] = useState(Object.fromEntries(FILTERS.map(([name]) => [name, params.get(name) ?? ''])))
  return html`<${Dialog} title="Filter the log"><form class="bare" onSubmit=${(event) => {
    event.preventDefault()
    closeDialog()
    go(withQuery({ ...fields, cursor: null }))
  }}>${FILTERS.map(([name, label]) => html`<${Field} label=${label} name=${name} value=${fields[name]} onInput=${(value) => setFields((old) => ({ ...old, [name]: value.trim() }))} hint=${{ who: 'a name, or the id of an operator', deed: 'for example item.changed', about: 'the id of an order, an item, an operator' }[name]} />`)}
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary">Show</button></footer></form><//>`
}
