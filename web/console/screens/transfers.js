// Money that came without a purchase: what it is, and what becomes of it. Many are decided at once, with one reason.
import { useRef, useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Dialog, Refusal, useDeed } from '../dialog.js'
import { closeDialog, openDialog, toast } from '../over.js'
import {
  Act,
  Choice,
  Csv,
  Empty,
  Facts,
  Failed,
  Head,
  html,
  Id,
  Link,
  Money,
  Panel,
  Rail,
  Rows,
  Status,
  When,
} from '../parts.js'
import { route, tell, withQuery } from '../shop.js'
import { number, sum } from '../words.js'

const STATES = [
  ['', 'Held for review'],
  ['unmatched', 'Unmatched'],
  ['returned', 'Returned'],
  ['kept', 'Kept'],
  ['all', 'All'],
]
const isDecidable = ({ status }) => status === 'held' || status === 'unmatched'
const MANY_SHOWN = 10

export default function Transfers({ id }) {
  return id ? html`<${Transfer} id=${id} />` : html`<${List} />`
}

function List() {
  const params = route.value.searchParams
  const state = params.get('state') ?? ''
  const query = new URLSearchParams({
    ...(state ? { state } : {}),
    ...(params.get('rail') ? { rail: params.get('rail') } : {}),
    ...(params.get('cursor') ? { cursor: params.get('cursor') } : {}),
  })
  const table = new URLSearchParams([...query].filter(([name]) => name !== 'cursor'))
  table.set('format', 'csv')
  const book = useData(`/operator/transfers?${query}`, {
    when: ({ type }) => /payment.held|refund|attention/.test(type),
  })
  const [picked, setPicked] = useState(new Set())
  const last = useRef(-1)
  const rows = book.data?.transfers ?? []
  const pick = (row, isRange) => {
    const index = rows.indexOf(row)
    const from = isRange && last.current >= 0 ? Math.min(last.current, index) : index
    const to = isRange && last.current >= 0 ? Math.max(last.current, index) : index
    setPicked((old) => {
      const next = new Set(old)
      for (const { transferId } of rows.slice(from, to + 1).filter(isDecidable)) {
        if (!isRange && next.has(transferId)) next.delete(transferId)
        else next.add(transferId)
      }
      return next
    })
    last.current = index
  }
  const chosen = rows.filter(({ transferId }) => picked.has(transferId))
  const decide = (transfers) =>
    openDialog(Decide, {
      transfers,
      done: () => {
        setPicked(new Set())
        book.again()
      },
    })
  const columns = [
    {
      name: '',
      label: 'Select',
      className: 'off-phone',
      cell: (row) =>
        isDecidable(row)
          ? html`<input type="checkbox" aria-label="Select ${sum(row.amount)} ${row.currency ?? ''} from ${row.payer}" checked=${picked.has(row.transferId)} onClick=${(event) => pick(row, event.shiftKey)} />`
          : null,
    },
    {
      name: 'Amount',
      isHead: true,
      cell: ({ amount, currency, transferId }) =>
        html`<${Link} to="/operator/transfers/${transferId}"><${Money} amount=${amount} currency=${currency} /><//>`,
    },
    { name: 'State', className: 'lead', cell: ({ status }) => html`<${Status} of=${status} />` },
    { name: 'From', cell: ({ payer }) => html`<${Id} of=${payer} to="/operator/orders?payer=${payer}" />` },
    { name: 'Why', className: 'wrap soft', cell: ({ reason }) => reason ?? '–' },
    { name: 'Protocol', className: 'off-phone', cell: ({ protocol }) => html`<${Rail} name=${protocol} />` },
    { name: 'Transaction', className: 'off-phone', cell: ({ paymentTx }) => html`<${Id} of=${paymentTx} />` },
    { name: 'Found', isNumber: true, cell: ({ foundAt }) => html`<${When} at=${foundAt} />` },
  ]
  const isQuiet = state === ''
  return html`<${Head} title="Unmatched transfers" sub="Money that reached a receiving account and that no purchase claims."><${Csv} href="/operator/transfers?${table}" name="transfers.csv" />${picked.size > 0 ? html`<${Act} role="admin" class="primary" onClick=${() => decide(chosen)}>Decide about ${picked.size}…<//><button type="button" onClick=${() => setPicked(new Set())}>Select none</button>` : null}<//>
    <${Choice} label="State" value=${state} options=${STATES} to=${(next) => withQuery({ state: next || null, cursor: null })} />
    <${Panel} of=${book} label="Transfers" flush=${true} height=${260} empty=${({ transfers }) => (transfers.length === 0 ? html`<${Empty} icon=${isQuiet ? 'ok' : 'transfer'} title=${isQuiet ? 'No money waits for a decision' : 'None like that'}>${isQuiet ? 'Whatever was paid belongs to a purchase, or went back.' : 'Nothing matches.'}<//>` : null)}>${(
      data,
    ) => html`<${Rows} rows=${data.transfers} columns=${columns} label="Transfers, newest first" keyOf=${({ transferId }) => transferId} to=${({ transferId }) => `/operator/transfers/${transferId}`} picked=${picked} onPick=${pick} act=${(row) => isDecidable(row) && decide([row])} />
      <div class="foot"><span>${number(data.transfers.length)} shown</span><span class="acts">${params.get('cursor') ? html`<${Link} class="button" to=${withQuery({ cursor: null })}>Newest<//>` : null}${data.next ? html`<${Link} class="button" to=${withQuery({ cursor: data.next })}>Older<//>` : null}</span></div>`}<//>`
}

/** Sums of each currency: two of them are never added. */
function sumsOf(transfers) {
  const groups = Map.groupBy(transfers, ({ currency }) => currency ?? '')
  return [...groups]
    .map(([currency, all]) => ({
      currency,
      amount: (all.reduce((total, { amount }) => total + BigInt(Math.round(Number(amount) * 1e6)), 0n) * 1n).toString(),
    }))
    .map(({ currency, amount }) => ({
      currency,
      amount: `${amount.slice(0, -6) || '0'}.${amount.padStart(7, '0').slice(-6)}`.replace(/(\.\d\d)(\d*?)0+$/, '$1$2'),
    }))
}

function Decide({ transfers, done }) {
  const { run, fault, isBusy } = useDeed()
  const [decision, setDecision] = useState('')
  const [reason, setReason] = useState('')
  const [results, setResults] = useState(null)
  const sums = sumsOf(transfers)
    .map(({ amount, currency }) => `${sum(amount)} ${currency}`)
    .join(' and ')
  const many = transfers.length > 1 ? `${transfers.length} payments` : 'it'
  const submit = (event) => {
    event.preventDefault()
    run(async (key) => {
      const answer = await tell(
        'POST',
        '/operator/transfers/decide',
        { ids: transfers.map(({ transferId }) => transferId), decision, reason: reason.trim() },
        { 'idempotency-key': key },
      )
      done()
      const failed = answer.results.filter(({ isDone }) => !isDone)
      if (failed.length > 0) return setResults(answer.results)
      closeDialog()
      toast(decision === 'refund' ? `${sums} on the way back` : `${sums} kept`)
    })
  }
  if (results)
    return html`<${Dialog} title="Some were not decided" lead="${results.filter(({ isDone }) => isDone).length} of ${results.length} were."><ul class="rows">${results.filter(({ isDone }) => !isDone).map(({ id, error }) => html`<li><${Id} of=${id} /><span class="grow">${error?.detail}</span></li>`)}</ul><footer><button type="button" class="primary" onClick=${closeDialog}>Close</button></footer><//>`
  return html`<${Dialog} label="Decide about money without a purchase"><form onSubmit=${submit}><div><h2>What becomes of ${transfers.length > 1 ? `these ${transfers.length} payments` : 'this payment'}?</h2><p class="lead">${sums} in all. Neither can be undone.</p></div>
    <ul class="rows">${transfers.slice(0, MANY_SHOWN).map(({ transferId, amount, currency, payer }) => html`<li><${Money} amount=${amount} currency=${currency} /><span class="soft">from</span><code class="grow">${payer}</code><span class="sr">${transferId}</span></li>`)}${transfers.length > MANY_SHOWN ? html`<li class="soft">and ${transfers.length - MANY_SHOWN} more</li>` : null}</ul>
    <div class="choices" role="radiogroup" aria-label="Decision">${[
      ['refund', `Send ${many} back`, 'To the wallet that each came from, in full, out of the treasury.'],
      ['keep', `Keep ${many}`, 'It stays where it is. Its payer is told that the operator decided so.'],
    ].map(
      ([value, title, follows]) =>
        html`<label class="choice"><input type="radio" name="decision" required value=${value} checked=${decision === value} onChange=${() => setDecision(value)} /><span><b>${title}</b><small>${follows}</small></span></label>`,
    )}</div>
    <label class="field">Reason<textarea name="reason" required maxlength="300" value=${reason} onInput=${(event) => setReason(event.currentTarget.value)}></textarea><small>One for all of them; kept in the audit log.</small></label>
    <${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Leave it</button><button type="submit" class=${decision === 'refund' ? 'danger' : 'primary'} disabled=${isBusy || !decision}>${decision === 'refund' ? `Send ${sums} back` : decision === 'keep' ? `Keep ${sums}` : 'Choose one'}</button></footer></form><//>`
}

function Transfer({ id }) {
  const found = useData(`/operator/transfers/${encodeURIComponent(id)}`, {
    when: ({ type }) => /payment.held|refund|attention|operator/.test(type),
  })
  const transfer = found.data?.transfers[0]
  const crumbs = html`<${Link} to="/operator/transfers">Transfers<//><span aria-hidden="true">/</span><${Id} of=${id} />`
  if (!found.data && found.fault)
    return html`<${Head} title="Nothing has this name" crumbs=${crumbs} /><${Failed} fault=${found.fault} again=${found.again} />`
  return html`<${Head} title=${transfer ? `${sum(transfer.amount)} ${transfer.currency ?? ''} without a purchase` : 'Transfer'} crumbs=${crumbs}>${transfer && isDecidable(transfer) ? html`<${Act} role="admin" class="primary" onClick=${() => openDialog(Decide, { transfers: [transfer], done: found.again })}>Decide…<//>` : null}<//>
    <${Panel} of=${found} label="Transfer">${() =>
      html`<${Facts} rows=${[
        ['State', html`<${Status} of=${transfer.status} />`],
        transfer.reason ? ['Why', transfer.reason] : null,
        ['From', html`<${Id} of=${transfer.payer} to="/operator/orders?payer=${transfer.payer}" whole=${true} />`],
        ['To', html`<${Id} of=${transfer.payTo} whole=${true} />`],
        ['Transaction', html`<${Id} of=${transfer.paymentTx} whole=${true} />`],
        [
          'Protocol',
          html`<${Rail} name=${transfer.protocol} /> <span class="soft">on ${transfer.network}, block ${number(transfer.blockNumber)}</span>`,
        ],
        transfer.orderId
          ? ['Order', html`<${Id} of=${transfer.orderId} to="/operator/orders/${transfer.orderId}" />`]
          : null,
        transfer.decidedBy ? ['Decided by', transfer.decidedBy] : null,
        transfer.refund ? ['Refund', html`<code>${JSON.stringify(transfer.refund)}</code>`] : null,
        ['Found', html`<${When} at=${transfer.foundAt} />`],
      ]} />`}<//>`
}
