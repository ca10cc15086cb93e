// How the shop itself is: checks, processes, nodes, configuration; and the switches for a bad day.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Confirm, Dialog, Field, Refusal, useDeed } from '../dialog.js'
import { openDialog, toast } from '../over.js'
import { Act, Badge, Empty, Facts, Head, html, Id, Notice, Panel, Rail, Status, When } from '../parts.js'
import { tell } from '../shop.js'
import { number, plain, railName, span } from '../words.js'

export default function System() {
  const isHealth = ({ type }) => /down|back|paused|resumed|low|refilled|^operator/.test(type)
  const health = useData('/health/ready', { every: 15_000, when: isHealth })
  const system = useData('/operator/system', { every: 30_000, when: isHealth })
  const sales = useData('/operator/sales', { when: isHealth })
  const blocks = useData('/operator/blocks', { when: ({ type }) => type === 'operator.acted' })
  return html`<${Head} title="System"><${Act} role="support" icon="pulse" onClick=${() => openDialog(Doctor)}>Run the doctor<//><//>
    <div class="stack"><div class="two"><${Checks} of=${health} /><${Sells} of=${health} sales=${sales} /></div>
    <div class="half"><${House} of=${system} /><${Blocks} of=${blocks} /></div>
    <${Nodes} of=${system} /><${Configuration} of=${system} /></div>`
}

function Checks({ of }) {
  return html`<${Panel} of=${of} title="Checks" note=${of.data ? plain(of.data.status) : ''} height=${260}>${({ checks }) => html`<ul class="checks">${checks.map(({ name, status, detail }) => html`<li><${Status} of=${status} words=${name} /><span class="soft">${detail}</span></li>`)}</ul>`}<//>`
}

/** What can be sold by which protocol, and the switch that stops it. */
function Sells({ of, sales }) {
  const pauses = sales.data?.pauses ?? []
  const again = () => {
    of.again()
    sales.again()
  }
  return html`<${Panel} of=${of} title="Selling" height=${220}>${({ sells }) =>
    html`<ul class="rows">${[...Map.groupBy(sells, ({ protocol }) => protocol)].map(([protocol, rows]) => {
      const pause = pauses.find((one) => one.rail === protocol)
      const down = rows.filter(({ status }) => status === 'down')
      return html`<li><span class="grow"><${Rail} name=${protocol} /><small class="block soft">${rows.map(({ surface, status }) => `${surface}${status === 'down' ? ' (down)' : ''}`).join(', ')}</small>${down.length > 0 ? html`<small class="block">${[...new Set(down.flatMap(({ reasons }) => reasons))].join(' ')}</small>` : null}</span>
      <span class="end acts">${pause ? html`<${Status} of="paused" />` : down.length === 0 ? html`<${Status} of="ok" words="sells" />` : html`<${Status} of="fail" words=${down.length === rows.length ? 'down' : 'partly down'} />`}${pause ? html`<${Act} role="admin" onClick=${() => openDialog(Resume, { protocol, pause, again })}>Resume…<//>` : html`<${Act} role="admin" icon="pause" onClick=${() => openDialog(Pause, { protocol, again })}>Pause…<//>`}</span></li>`
    })}</ul>`}<//>`
}

function Pause({ protocol, again }) {
  return html`<${Confirm} title="Stop selling by ${railName(protocol)}" button="Pause ${railName(protocol)}" lead="Whoever asks is told that nothing is sold this way now; nothing is taken. What is paid for goes on. Every console shows it until it is lifted." reason=${{ label: 'Reason', hint: 'For your colleagues.' }} deed=${(reason) => tell('POST', `/operator/sales/${protocol}/pause`, { reason })} done=${() => {
    toast(`Nothing is sold by ${railName(protocol)} now`)
    again()
  }} />`
}

function Resume({ protocol, pause, again }) {
  return html`<${Confirm} title="Sell by ${railName(protocol)} again" look="primary" button="Resume ${railName(protocol)}" deed=${() => tell('POST', `/operator/sales/${protocol}/resume`)} done=${() => {
    toast(`${railName(protocol)} sells again`)
    again()
  }}><${Facts} rows=${[['Paused by', pause.by], ['Because', pause.reason], ['Since', html`<${When} at=${pause.since} />`]]} /><//>`
}

const shown = (value) => {
  if (value === null || value === undefined || value === '') return html`<span class="soft">none</span>`
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'object') return html`<code>${JSON.stringify(value)}</code>`
  return /^\d{4}-\d\d-\d\dT/.test(String(value)) ? html`<${When} at=${value} />` : String(value)
}
/** Lists and large things have panels of their own. */
const OWN = new Set([
  'config',
  'configuration',
  'nodes',
  'rpc',
  'pauses',
  'paused',
  'asOf',
  'limits',
  'replicas',
  'leases',
  'jobs',
])

function House({ of }) {
  return html`<${Panel} of=${of} title="House" height=${200}>${(data) => html`<${Facts} rows=${Object.entries(data)
    .filter(([name]) => !OWN.has(name))
    .flatMap(([name, value]) =>
      value && typeof value === 'object' && !Array.isArray(value)
        ? Object.entries(value).map(([inner, each]) => [`${plain(name)}: ${plain(inner).toLowerCase()}`, shown(each)])
        : [[plain(name), shown(value)]],
    )} />
    ${data.replicas?.length > 0 ? html`<h3>Replicas</h3><ul class="rows">${data.replicas.map((one) => html`<li><${Id} of=${one.id ?? one.name ?? 'replica'} /><span class="soft">${one.version ?? ''}</span><span class="end soft small">seen <${When} at=${one.seenAt ?? one.at} /></span></li>`)}</ul>` : null}
    ${(data.leases ?? data.jobs)?.length > 0 ? html`<h3>At work</h3><ul class="rows">${(data.leases ?? data.jobs).map((one) => html`<li><b>${one.kind}</b><span class="end">${shown(one.running ?? one.count ?? one.held)}</span></li>`)}</ul>` : null}`}<//>`
}

function Nodes({ of }) {
  const nodes = of.data?.nodes ?? of.data?.rpc
  if (!nodes?.length) return null
  return html`<section class="card" aria-label="Nodes"><header><h2>Nodes</h2></header><ul class="rows">${nodes.map((node) => html`<li><span class="grow"><b>${node.name ?? node.host ?? `chain ${node.chainId}`}</b><small class="block soft">chain ${node.chainId}${node.head ? `, block ${number(node.head)}` : ''}</small></span><span class="end">${node.ms === undefined || node.ms === null ? null : html`<small class="soft">${span(node.ms)}</small> `}<${Status} of=${node.isDown ? 'fail' : (node.status ?? 'ok')} /></span></li>`)}</ul></section>`
}

function Configuration({ of }) {
  const config = of.data?.config ?? of.data?.configuration
  if (!config) return null
  const rows = Array.isArray(config)
    ? config
    : Object.entries(config).map(([name, value]) =>
        value && typeof value === 'object' && 'value' in value ? { name, ...value } : { name, value },
      )
  return html`<section class="card flush" aria-label="Configuration"><header><h2>Configuration</h2><small class="soft">secrets are never shown</small></header><div class="sheet" tabindex="0" role="group" aria-label="Configuration"><table class="cards"><thead><tr><th scope="col">Option</th><th scope="col">Value</th><th scope="col">From</th></tr></thead><tbody>${rows.map(({ name, value, origin, from, isSecret }) => html`<tr><th scope="row"><code>${name}</code></th><td class="wrap">${isSecret ? html`<${Badge} icon="lock">${value ?? 'set'}<//>` : shown(value)}</td><td class="soft">${origin ?? from ?? ''}</td></tr>`)}</tbody></table></div></section>`
}

function Blocks({ of }) {
  const add = html`<${Act} role="admin" icon="ban" onClick=${() => openDialog(Block, { again: of.again })}>Block a payer…<//>`
  return html`<${Panel} of=${of} title="Blocked payers" tools=${add} height=${120} empty=${({ blocks }) => (blocks.length === 0 ? html`<${Empty} icon="ok" title="Nobody is blocked">Whoever is blocked is refused before they pay.<//>` : null)}>${({ blocks }) => html`<ul class="rows">${blocks.map((block) => html`<li key=${block.address}><span class="grow"><${Id} of=${block.address} to="/operator/orders?payer=${block.address}" /><small class="block soft">${block.reason}${block.by ? `, ${block.by}` : ''}</small></span><span class="end acts"><small class="soft"><${When} at=${block.at} /></small><${Act} role="admin" onClick=${() => openDialog(Unblock, { block, again: of.again })}>Let in…<//></span></li>`)}</ul>`}<//>`
}

function Block({ again }) {
  const [payer, setPayer] = useState('')
  return html`<${Confirm} title="Block a payer" button="Block ${payer ? payer.slice(0, 10) : 'them'}" lead="They are refused before they pay. What they paid for already is delivered." reason=${{ label: 'Reason', hint: 'For your colleagues; the payer is not told.' }} deed=${(reason) => tell('POST', '/operator/blocks', { address: payer.trim(), reason })} done=${() => {
    toast('They are blocked')
    again()
  }}><${Field} label="Wallet" name="address" value=${payer} onInput=${setPayer} required placeholder="0x…" spellcheck=${false} /><//>`
}

function Unblock({ block, again }) {
  const payer = block.address
  return html`<${Confirm} title="Let them buy again" look="primary" button="Let them in" deed=${() => tell('DELETE', `/operator/blocks/${payer}`)} done=${() => {
    toast('They may buy again')
    again()
  }}><${Facts} rows=${[['Wallet', html`<code>${payer}</code>`], ['Because', block.reason]]} /><//>`
}

/** Looks at everything there is to look at, outside too: it takes some seconds. */
function Doctor() {
  const { run, fault, isBusy } = useDeed()
  const [found, setFound] = useState(null)
  const findings = found?.findings ?? found?.checks ?? found?.lines ?? []
  return html`<${Dialog} class="side-sheet" title="The doctor" lead="Asks chains, contracts, facilitator and game whether all is as it should be. It changes nothing.">
    <${Refusal} fault=${fault} />
    ${found?.grade ? html`<${Notice} tone=${/^[AB]/.test(found.grade) ? 'ok' : 'warn'}><b>Grade ${found.grade}</b> ${found.summary ?? ''}<//>` : null}
    ${findings.length > 0 ? html`<ul class="rows">${findings.map((one) => html`<li><span class="grow">${typeof one === 'string' ? one : html`<${Status} of=${one.status ?? (one.isWell ? 'ok' : 'fail')} words=${one.what ?? one.name} /><small class="block soft">${one.detail ?? ''}${one.fix ? html` <b>${one.fix}</b>` : null}</small>`}</span></li>`)}</ul>` : null}
    <footer><button type="button" class="primary" disabled=${isBusy} onClick=${() => run(async () => setFound(await tell('POST', '/operator/doctor')))}>${isBusy ? 'Looking…' : found ? 'Once more' : 'Look now'}</button></footer><//>`
}
