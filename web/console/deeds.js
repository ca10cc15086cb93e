// What operators do to an order. Each says before what follows from it, and afterwards only what the shop answered.
import { useState } from 'preact/hooks'
import { useData } from './data.js'
import { Confirm, Dialog, Refusal, useDeed } from './dialog.js'
import { closeDialog, openDialog, toast } from './over.js'
import { Facts, html, Id, Money, Status } from './parts.js'
import { tell } from './shop.js'
import { plain, railName, STATUSES, sum, timeOf } from './words.js'

const SECOND = 'A second person must agree; it waits in Needs you'

/** Nothing to confirm: it only goes on now instead of a little later. */
export async function retry(orderId, done) {
  try {
    const { isDue, status } = await tell('POST', `/operator/orders/${orderId}/retry`)
    toast(
      isDue
        ? 'It is being tried now'
        : `Nothing to hurry: it is ${(STATUSES[status]?.[2] ?? status).toLowerCase()}, or somebody is at work on it`,
    )
    done?.()
  } catch (error) {
    toast(error.message, 'warn')
  }
}

export const refund = (orderId, done) => openDialog(Refund, { orderId, done })
export const decideDelivery = (orderId, done) => openDialog(DecideDelivery, { orderId, done })
export const agree = (approval, done) => openDialog(Agree, { approval, done })
export const refuse = (approval, done) => openDialog(Refuse, { approval, done })
export const addNote = (orderId, done) => openDialog(Note, { orderId, done })

/** Which wallet pays money back on this network, as far as is known. */
function treasuryOf(wallets, network) {
  const chainId = Number(network.split(':')[1])
  return (
    wallets?.find((wallet) => wallet.role === 'treasury' && wallet.what === 'money' && wallet.chainId === chainId) ??
    null
  )
}

/** Exact, as text: a float of the shop's own balance is not to be wrong by a rounding. */
function minus(balance, amount) {
  const digits = Math.max(...[balance, amount].map((text) => String(text).split('.')[1]?.length ?? 0))
  const atomic = (text) =>
    BigInt(String(text).replace(/^(-?\d+)(?:\.(\d*))?$/, (_, whole, rest = '') => whole + rest.padEnd(digits, '0')))
  const left = atomic(balance) - atomic(amount)
  const text = (left < 0n ? -left : left).toString().padStart(digits + 1, '0')
  const [whole, rest] = [text.slice(0, text.length - digits), text.slice(text.length - digits)]
  return { isEnough: left >= 0n, left: `${left < 0n ? '-' : ''}${whole}${digits ? `.${rest}` : ''}` }
}

const tooLittle = (held, currency) =>
  `The treasury holds ${sum(held)} ${currency}, which is less than this refund. Fund it first.`

function Refund({ orderId, done }) {
  const { data, fault } = useData(`/operator/orders/${orderId}`)
  const wallets = useData('/operator/wallets')
  if (!data)
    return html`<${Dialog} title="Refund">${fault ? html`<${Refusal} fault=${fault} />` : html`<div class="skeleton"></div>`}<//>`
  const { order, can } = data
  const treasury = treasuryOf(wallets.data?.wallets, order.network)
  const held = treasury?.balance ?? null
  const after = held === null ? null : minus(held, order.amount)
  const no =
    can?.refund && !can.refund.can ? can.refund.why : after && !after.isEnough ? tooLittle(held, order.currency) : null
  const isDelivered = order.status === 'confirmed'
  return html`<${Confirm} title="Send the money back" lead="The whole amount goes to the wallet that paid. This cannot be undone." no=${no}
    reason=${{ label: 'Reason', hint: 'The buyer reads it.' }} button="Send ${sum(order.amount)} ${order.currency ?? ''} back"
    deed=${(reason, key) => tell('POST', `/operator/orders/${order.orderId}/refund`, { reason, expect: { status: order.status, amount: order.amount, to: order.payer } }, { 'idempotency-key': key })}
    done=${({ status, approval }) => {
      toast(approval ? SECOND : status === 'refunded' ? 'The money is back' : 'The refund is on its way')
      done?.()
    }}>
    <${Facts} rows=${[
      ['Order', html`${order.title ?? order.good}, <${Status} of=${order.status} />`],
      ['Amount', html`<${Money} amount=${order.amount} currency=${order.currency} />`],
      ['To', html`<code>${order.payer}</code>`],
      [
        'From',
        treasury
          ? html`<code>${treasury.address}</code>`
          : html`<span class="soft">the treasury of ${railName(order.protocol)}</span>`,
      ],
      held
        ? [
            'It holds',
            html`<${Money} amount=${held} currency=${order.currency} />${treasury?.asOf ? html` <small class="soft">as of ${timeOf(treasury.asOf)}</small>` : null}`,
          ]
        : [
            'It holds',
            html`<span class="soft">${wallets.fault ? 'not known now: the wallets cannot be read' : 'looking…'}</span>`,
          ],
      after?.isEnough ? ['Left after', html`<${Money} amount=${after.left} currency=${order.currency} />`] : null,
      ['The player', isDelivered ? 'keeps what was delivered; it is not taken back.' : 'has received nothing.'],
    ]} /><//>`
}

const OUTCOMES = [
  ['delivered', 'It was delivered', 'The order ends as delivered, with a receipt. The money stays.'],
  [
    'not_delivered',
    'It was not delivered',
    'The game is never asked again for this order, and the whole amount goes back.',
  ],
]

const DECISIONS = {
  taken: 'Decided; the order goes on',
  too_early: 'Too early: the request may still reach the game',
  nothing_to_decide: 'There was nothing left to decide',
}

/** Two equal answers, none of them chosen in advance. */
function DecideDelivery({ orderId, done }) {
  const { run, fault, isBusy } = useDeed()
  const [outcome, setOutcome] = useState('')
  const [reason, setReason] = useState('')
  const submit = (event) => {
    event.preventDefault()
    run(async () => {
      const { decision, approval } = await tell('POST', `/operator/orders/${orderId}/decide`, {
        outcome,
        reason: reason.trim(),
      })
      closeDialog()
      if (approval) toast(SECOND)
      else toast(DECISIONS[decision] ?? plain(decision), decision === 'taken' ? 'check' : 'warn')
      done?.()
    })
  }
  return html`<${Dialog} label="Decide about a delivery"><form onSubmit=${submit}><div><h2>What did you find out in the game?</h2><p class="lead">The game cannot say whether it handed this over, so somebody has to look there. What you say here counts and cannot be taken back.</p></div>
    <${Facts} rows=${[['Order', html`<${Id} of=${orderId} to="/operator/orders/${orderId}" />`]]} />
    <div class="choices" role="radiogroup" aria-label="What happened">${OUTCOMES.map(([value, title, follows]) => html`<label class="choice"><input type="radio" name="outcome" value=${value} required checked=${outcome === value} onChange=${() => setOutcome(value)} /><span><b>${title}</b><small>${follows}</small></span></label>`)}</div>
    <label class="field">How do you know?<textarea name="reason" required maxlength="300" value=${reason} onInput=${(event) => setReason(event.currentTarget.value)}></textarea><small>Kept in the audit log.</small></label>
    <${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Leave it</button><button type="submit" class="primary" disabled=${isBusy || !outcome}>${OUTCOMES.find(([value]) => value === outcome)?.[1] ?? 'Choose one'}</button></footer></form><//>`
}

function Note({ orderId, done }) {
  return html`<${Confirm} title="Note" lead="For whoever looks at this order next. Its buyer does not see it." reason=${{ label: 'What should they know?' }} button="Add the note" look="primary"
    deed=${(text) => tell('POST', `/operator/orders/${orderId}/notes`, { text })} done=${() => {
      toast('Noted')
      done?.()
    }} />`
}

const asked = ({ by, amount, currency, to, reason, subject }) => [
  ['Asked by', by],
  ['Amount', html`<${Money} amount=${amount} currency=${currency} />`],
  to ? ['To', html`<code>${to}</code>`] : null,
  reason ? ['Because', reason] : null,
  ['About', html`${subject.type} <${Id} of=${subject.id} />`],
]

function Agree({ approval, done }) {
  const wallets = useData('/operator/wallets')
  const treasury = wallets.data?.wallets.find(
    ({ role, what, currency }) => role === 'treasury' && what === 'money' && currency === approval.currency,
  )
  const after = treasury ? minus(treasury.balance, approval.amount) : null
  const no = after && !after.isEnough ? tooLittle(treasury.balance, approval.currency) : null
  return html`<${Confirm} title="Agree to a refund" lead="It is sent at once. This cannot be undone." no=${no} button="Send ${sum(approval.amount)} ${approval.currency ?? ''} back" deed=${() => tell('POST', `/operator/approvals/${approval.id}/approve`)} done=${() => {
    toast('The refund is on its way')
    done?.()
  }}><${Facts} rows=${[
    ...asked(approval),
    treasury ? ['Treasury', html`<${Money} amount=${treasury.balance} currency=${approval.currency} />`] : null,
    after?.isEnough ? ['Left after', html`<${Money} amount=${after.left} currency=${approval.currency} />`] : null,
  ]} /><//>`
}

function Refuse({ approval, done }) {
  return html`<${Confirm} title=${approval.isOwn ? 'Take the request back' : 'Refuse the refund'} look="primary" lead="No money is sent." button=${approval.isOwn ? 'Take it back' : 'Refuse it'} reason=${{ label: 'Reason' }} deed=${(reason) => tell('POST', `/operator/approvals/${approval.id}/refuse`, { reason })} done=${() => {
    toast('No money is sent')
    done?.()
  }}><${Facts} rows=${asked(approval)} /><//>`
}
