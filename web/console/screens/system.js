// How the shop itself is: checks, processes, nodes, configuration; and the switches for a bad day.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Confirm, Dialog, Field, Refusal, useDeed } from '../dialog.js'
import { openDialog, toast } from '../over.js'
import { Act, Badge, Empty, Facts, Head, html, Id, Notice, Panel, Rail, Rows, Status, When } from '../parts.js'
import { me, tell } from '../shop.js'
import { number, plain, railName, span } from '../words.js'

export default function System() {
  const isHealth = ({ type }) => /down|back|paused|resumed|low|refilled|^operator/.test(type)
  const health = useData('/health/ready', { every: 15_000, when: isHealth })
  const system = useData('/operator/system', { every: 30_000, when: isHealth })
  const sales = useData('/operator/sales', { when: isHealth })
  const blocks = useData('/operator/blocks', { when: ({ type }) => type === 'operator.acted' })
  return html`<${Head} title="System"><${Act} role="admin" no=${me.value?.may && !('POST /operator/doctor' in me.value.may) ? 'This shop was not started by the command, which has the doctor. Run `sutler doctor` beside it.' : null} icon="pulse" onClick=${() => openDialog(Doctor)}>Run the doctor<//><//>
    <div class="stack"><div class="two"><${Checks} of=${health} /><${Sells} of=${health} sales=${sales} /></div>
    <div class="half"><${House} of=${system} /><${Blocks} of=${blocks} /></div>
    <${Replicas} of=${system} /><${Settings} of=${system} /></div>`
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
  const selling = (sales.data?.rails ?? []).filter((rail) => !pauses.some((pause) => pause.rail === rail))
  const all =
    sales.data?.rails.length > 1
      ? html`<${Act} role="admin" class="quiet" icon=${selling.length > 0 ? 'pause' : 'play'} onClick=${() => openDialog(selling.length > 0 ? PauseAll : ResumeAll, { rails: selling.length > 0 ? selling : sales.data.rails, again })}>${selling.length > 0 ? 'Pause all…' : 'Resume all…'}<//>`
      : null
  return html`<${Panel} of=${of} title="Selling" tools=${all} height=${220}>${({ sells }) =>
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

/** One after the other: what was done before a fault is done, and the page behind the dialog shows it. */
async function each(rails, again, deed) {
  try {
    for (const rail of rails) await deed(rail)
  } finally {
    again()
  }
}

function PauseAll({ rails, again }) {
  return html`<${Confirm} title="Stop selling anything" button="Pause ${rails.map(railName).join(' and ')}" lead="Whoever asks is told that nothing is sold now; nothing is taken. What is paid for goes on. Every console shows it until it is lifted." reason=${{ label: 'Reason', hint: 'For your colleagues.' }} deed=${(reason) => each(rails, again, (rail) => tell('POST', `/operator/sales/${rail}/pause`, { reason }))} done=${() => toast('Nothing is sold now')} />`
}

function ResumeAll({ rails, again }) {
  return html`<${Confirm} title="Sell again" look="primary" button="Resume ${rails.map(railName).join(' and ')}" lead="By every protocol, from now on." deed=${() => each(rails, again, (rail) => tell('POST', `/operator/sales/${rail}/resume`))} done=${() => toast('The shop sells again')} />`
}

function House({ of }) {
  return html`<${Panel} of=${of} title="House" height=${200}>${(data) => html`<${Facts} rows=${[
    ['Version', `${data.version}, on Node ${data.node}`],
    ['Mode', data.mode],
    ['Store', data.store.description],
    ['Schema', `${data.migrations.count} migrations, the last is ${data.migrations.last}`],
  ]} />
    <h3>Work</h3>${data.queue.length === 0 ? html`<p class="soft">Nothing is queued.</p>` : html`<ul class="rows">${data.queue.map(({ kind, count, leased, oldestDueSeconds }) => html`<li><span class="grow"><b>${plain(kind)}</b></span><span class="soft">${number(leased)} at work</span><span class="end">${number(count)} queued${oldestDueSeconds > 0 ? html`, <span class="soft">late by ${span(oldestDueSeconds * 1000)}</span>` : null}</span></li>`)}</ul>`}`}<//>`
}

/** Each process, and how fast the nodes answer it. */
function Replicas({ of }) {
  return html`<${Panel} of=${of} title="Replicas" height=${140}>${({ replicas }) =>
    html`<ul class="rows">${replicas.map(
      ({
        id,
        isSelf,
        version,
        startedAt,
        seenAt,
        eventLoop,
        memoryMb,
        rpc = [],
      }) => html`<li key=${id}><span class="grow"><${Id} of=${id} />${isSelf ? html` <${Badge} tone="go">answers you<//>` : null}<small class="block soft">${version}, since <${When} at=${startedAt} />${eventLoop ? `, waits ${span(eventLoop.p99Ms)} at p99` : ''}${memoryMb ? `, ${number(memoryMb)} MB` : ''}</small></span>
    <span class="end acts">${rpc.map(({ chainId, node, ms, silent }) => html`<${Badge} tone=${silent ? 'bad' : 'off'} icon=${silent ? 'bad' : undefined}>chain ${chainId}${node ? `, node ${node}` : ''}${silent ? ' is silent' : ms === null || ms === undefined ? '' : `: ${span(ms)}`}<//>`)}<small class="soft">seen <${When} at=${seenAt} /></small></span></li>`,
    )}</ul>`}<//>`
}

const ORIGINS = { set: 'set here', file: 'from a file', default: 'usual' }

function Settings({ of }) {
  const columns = [
    { name: 'Option', isHead: true, cell: ({ option }) => html`<code>${option}</code>` },
    {
      name: 'Value',
      className: 'wrap',
      cell: ({ shown }) =>
        shown === null || shown === ''
          ? html`<span class="soft">not shown</span>`
          : html`<code>${String(shown)}</code>`,
    },
    { name: 'From', className: 'lead soft', cell: ({ origin }) => ORIGINS[origin] ?? origin },
  ]
  return html`<${Panel} of=${of} title="Configuration" note="secrets are never shown" flush=${true} height=${240}>${({
    settings,
  }) => {
    const own = settings.filter(({ origin }) => origin !== 'default')
    const usual = settings.filter(({ origin }) => origin === 'default')
    return html`<${Rows} rows=${own} columns=${columns} label="Options that are set" keyOf=${({ option }) => option} />
      <details class="foot"><summary>${number(usual.length)} more have their usual value</summary><p class="usual">${usual.map(({ option }) => html`<code>${option}</code> `)}</p></details>`
  }}<//>`
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
  const isWell = found && (found.grade === 'A' || found.grade === 'B')
  return html`<${Dialog} class="side-sheet" title="The doctor" lead="Asks chains, contracts, facilitator and game whether all is as it should be. It changes nothing and pays nothing.">
    <${Refusal} fault=${fault} />
    ${
      found
        ? html`<${Notice} tone=${isWell ? 'ok' : 'warn'}><b>Grade ${found.grade}</b> ${found.next ?? 'Nothing is left to mend.'}<//>
      <ul class="rows">${found.findings.map(({ area, what, severity, detail, fix }) => html`<li><span class="grow"><${Status} of=${severity} words=${what} /><small class="block soft">${area}: ${detail}</small>${fix ? html`<small class="block"><b>${fix}</b></small>` : null}</span></li>`)}</ul>`
        : null
    }
    <footer><button type="button" class="primary" disabled=${isBusy} onClick=${() => run(async () => setFound(await tell('POST', '/operator/doctor')))}>${isBusy ? 'Looking…' : found ? 'Once more' : 'Look now'}</button></footer><//>`
}
