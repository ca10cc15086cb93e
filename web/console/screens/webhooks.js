// Who is told of events, what they answered, and sending it again.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Confirm, Dialog, Field, Refusal, useDeed } from '../dialog.js'
import { closeDialog, openDialog, toast } from '../over.js'
import {
  Act,
  Age,
  Badge,
  Choice,
  Csv,
  copy,
  Empty,
  Facts,
  Head,
  html,
  Id,
  Link,
  Panel,
  Rows,
  Status,
  When,
} from '../parts.js'
import { go, route, tell, withQuery } from '../shop.js'
import { eventWords, number, span } from '../words.js'

export default function Webhooks({ id }) {
  return id ? html`<${Endpoint} id=${id} />` : html`<${List} />`
}

const hostOf = (url) => {
  try {
    return new URL(url).host
  } catch {
    return url
  }
}

function List() {
  const hooks = useData('/operator/webhooks', { every: 15_000 })
  const columns = [
    {
      name: 'Receiver',
      isHead: true,
      cell: ({ id, url, description }) =>
        html`<${Link} to="/operator/webhooks/${id}">${hostOf(url)}<//><small class="block soft mono cut">${url}</small>${description ? html`<small class="block soft">${description}</small>` : null}`,
    },
    {
      name: 'State',
      className: 'lead',
      cell: ({ state, reason, isRotating }) =>
        html`<span title=${reason}><${Status} of=${state} /></span>${isRotating ? html` <${Badge} tone="warn" icon="key">new secret<//>` : null}`,
    },
    {
      name: 'Told of',
      className: 'wrap',
      cell: ({ eventTypes }) =>
        eventTypes === null
          ? 'everything'
          : html`<span title=${eventTypes.join(', ')}>${eventTypes.length} types</span>`,
    },
    {
      name: 'Backlog',
      cell: ({ pending, dead }) =>
        pending + dead === 0
          ? html`<span class="soft">none</span>`
          : html`${pending > 0 ? html`<${Status} of="pending" words="${number(pending)} pending" /> ` : null}${dead > 0 ? html`<${Status} of="dead" words="${number(dead)} given up" />` : null}`,
    },
    { name: 'Since', isNumber: true, cell: ({ createdAt }) => html`<${When} at=${createdAt} />` },
  ]
  const add = html`<${Act} role="admin" class="primary" icon="plus" onClick=${() => openDialog(Add, { done: hooks.again })}>Add<//>`
  return html`<${Head} title="Webhooks">${add}<//>
    <${Panel} of=${hooks} label="Webhooks" flush=${true} height=${220} empty=${({ webhooks }) => (webhooks.length === 0 ? html`<${Empty} icon="hook" title="Nobody is told of events" acts=${add}>A webhook tells your own systems of every order, signed, in order and until they have it.<//>` : null)}>${({ webhooks }) => html`<${Rows} rows=${webhooks} columns=${columns} label="Webhooks" keyOf=${({ id }) => id} to=${({ id }) => `/operator/webhooks/${id}`} />`}<//>`
}

function Add({ done }) {
  const { run, fault, isBusy } = useDeed()
  const [url, setUrl] = useState('')
  const [description, setDescription] = useState('')
  const [types, setTypes] = useState('')
  return html`<${Dialog} title="Tell an address of events"><form class="bare" onSubmit=${(event) => {
    event.preventDefault()
    run(async () => {
      const eventTypes = types.trim() === '' ? null : types.split(/[\s,]+/).filter(Boolean)
      const made = await tell('POST', '/operator/webhooks', {
        url: url.trim(),
        description: description.trim(),
        eventTypes,
      })
      done()
      openDialog(Secret, { made })
    })
  }}><${Field} label="Address" name="url" value=${url} onInput=${setUrl} fault=${fault} required placeholder="https://studio.example/hooks/sutler" type="url" data-focus /><${Field} label="Note" name="description" value=${description} onInput=${setDescription} fault=${fault} maxlength="200" /><${Field} label="Types of events" name="eventTypes" value=${types} onInput=${setTypes} fault=${fault} hint="Empty: every type. Otherwise for example order.confirmed, refund.completed" /><${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy}>Add it</button></footer></form><//>`
}

/** Shown once; whoever closes it says that they have it. */
function Secret({ made }) {
  const [hasIt, setHasIt] = useState(false)
  return html`<${Dialog} label="The secret" isKept=${true}><div class="inner"><div><h2>The secret, once</h2><p class="lead">Your receiver checks each message with it. It is not shown again; whoever loses it makes another one.</p></div>
    <pre tabindex="0" aria-label="Secret">${made.secret}</pre><button type="button" data-icon="copy" onClick=${() => copy(made.secret, 'The secret is copied')}>Copy</button>
    <label class="tick"><input type="checkbox" checked=${hasIt} onChange=${(event) => setHasIt(event.currentTarget.checked)} /><span>It is kept where the receiver finds it.</span></label>
    <footer><button type="button" class="primary" disabled=${!hasIt} onClick=${() => {
      closeDialog()
      go(`/operator/webhooks/${made.id}`)
    }}>Done</button></footer></div><//>`
}

const STATES = [
  ['', 'All'],
  ['pending', 'Pending'],
  ['delivered', 'Delivered'],
  ['dead', 'Given up'],
]

function Endpoint({ id }) {
  const hooks = useData('/operator/webhooks')
  const params = route.value.searchParams
  const state = params.get('state') ?? ''
  const query = new URLSearchParams({
    limit: '50',
    ...(state ? { state } : {}),
    ...(params.get('before') ? { before: params.get('before') } : {}),
  })
  const log = useData(`/operator/webhooks/${encodeURIComponent(id)}/deliveries?${query}`, { every: 10_000 })
  const hook = hooks.data?.webhooks.find((one) => one.id === id)
  const crumbs = html`<${Link} to="/operator/webhooks">Webhooks<//><span aria-hidden="true">/</span><${Id} of=${id} />`
  if (hooks.data && !hook)
    return html`<${Head} title="Nothing has this name" crumbs=${crumbs} /><section class="card"><${Empty} icon="hook" title="There is no such webhook">It may have been removed.<//></section>`
  const again = () => {
    hooks.again()
    log.again()
  }
  const columns = [
    {
      name: 'Event',
      isHead: true,
      cell: (delivery) =>
        html`<button type="button" class="plain-link mono" title=${eventWords(delivery.type)[2]} onClick=${() => openDialog(Delivery, { delivery, id, again })}>${delivery.type}</button>`,
    },
    { name: 'State', className: 'lead', cell: (delivery) => html`<${Status} of=${delivery.state} />` },
    {
      name: 'About',
      cell: ({ subject }) =>
        html`<${Id} of=${subject} to=${/^(ord|act)_/.test(subject ?? '') ? `/operator/orders/${subject}` : undefined} />`,
    },
    { name: 'Tries', isNumber: true, phone: 'tries', cell: ({ attempts }) => attempts },
    {
      name: 'Last answer',
      cell: ({ answers }) =>
        answers.at(-1)
          ? html`<span>${answers.at(-1).status ?? 'none'} <small class="soft">in ${span(answers.at(-1).ms)}, <${Age} at=${answers.at(-1).at} /></small></span>`
          : html`<span class="soft">not sent yet</span>`,
    },
    {
      name: '',
      className: 'n',
      cell: (delivery) =>
        html`<${Act} class="quiet" icon="refresh" onClick=${() => resend(id, delivery, again)}>Send again<//>`,
    },
  ]
  return html`<${Head} title=${hook ? hostOf(hook.url) : 'Webhook'} crumbs=${crumbs}><${Csv} href="/operator/webhooks/${encodeURIComponent(id)}/deliveries?${new URLSearchParams({ ...(state ? { state } : {}), format: 'csv' })}" name="deliveries.csv" />${hook ? html`<${Act} role="admin" icon="spark" onClick=${() => test(id, again)}>Test<//><${Act} icon="refresh" onClick=${() => openDialog(Replay, { id, again })}>Send again…<//><${Act} role="admin" icon="key" onClick=${() => openDialog(Rotate, { hook, again })}>New secret…<//>${hook.state === 'enabled' || hook.state === 'active' ? html`<${Act} role="admin" icon="pause" onClick=${() => openDialog(Disable, { hook, again })}>Disable…<//>` : html`<${Act} role="admin" icon="play" class="primary" onClick=${() => enable(hook, again)}>Enable<//>`}<${Act} role="admin" icon="x" onClick=${() => openDialog(Remove, { hook })}>Remove…<//>` : null}<//>
    <div class="stack"><${Panel} of=${hooks} label="Receiver" height=${90}>${() => hook && html`<${Facts} rows=${[['Address', html`<code>${hook.url}</code>`], ['State', html`<${Status} of=${hook.state} /> ${hook.reason ? html`<span class="soft">${hook.reason}</span>` : null}`], ['Told of', hook.eventTypes === null ? 'every event' : hook.eventTypes.join(', ')], hook.description ? ['Note', hook.description] : null]} />`}<//>
    <${Choice} label="State" value=${state} options=${STATES} to=${(next) => withQuery({ state: next || null, before: null })} />
    <${Panel} of=${log} label="Deliveries" flush=${true} empty=${({ deliveries }) => (deliveries.length === 0 ? html`<${Empty} icon=${state === 'dead' ? 'ok' : 'hook'} title=${state === 'dead' ? 'Nothing was given up' : 'Nothing was sent yet'}>${state === 'dead' ? 'Every message reached its receiver, or is still being tried.' : 'The next event goes there by itself; Test sends one now.'}<//>` : null)}>${({
      deliveries,
      next,
    }) => html`<${Rows} rows=${deliveries} columns=${columns} label="Deliveries, newest first" keyOf=${({ position }) => position} />
      <div class="foot"><span>${number(deliveries.length)} shown</span><span class="acts">${params.get('before') ? html`<${Link} class="button" to=${withQuery({ before: null })}>Newest<//>` : null}${next ? html`<${Link} class="button" to=${withQuery({ before: next })}>Older<//>` : null}</span></div>`}<//></div>`
}

async function say(deed, words, again) {
  try {
    const answer = await deed()
    toast(typeof words === 'function' ? words(answer) : words)
    again()
  } catch (error) {
    toast(error.message, 'warn')
  }
}
const test = (id, again) =>
  say(
    () => tell('POST', `/operator/webhooks/${id}/test`),
    (answer) =>
      answer.status === undefined
        ? 'A test is on its way'
        : `It answered ${answer.status ?? 'nothing'}${answer.ms === undefined ? '' : ` in ${span(answer.ms)}`}`,
    again,
  )
const resend = (id, { position }, again) =>
  say(() => tell('POST', `/operator/webhooks/${id}/deliveries/${position}/resend`), 'It is on its way again', again)
const enable = ({ id }, again) =>
  say(() => tell('POST', `/operator/webhooks/${id}/enable`), 'It is told of events again', again)

function Delivery({ delivery, id, again }) {
  return html`<${Dialog} class="side-sheet" title=${eventWords(delivery.type)[2]} lead=${html`<code>${delivery.type}</code> at position ${number(delivery.position)}`}>
    <${Facts} rows=${[['State', html`<${Status} of=${delivery.state} />`], ['About', html`<code>${delivery.subject}</code>`]]} />
    <h3>Each try</h3>${delivery.answers.length === 0 ? html`<p class="soft">None yet.</p>` : html`<ul class="rows">${delivery.answers.toReversed().map(({ at, status, ms, text }) => html`<li><b>${status ?? 'no answer'}</b><span class="soft">in ${span(ms)}</span><span class="end small"><${When} at=${at} /></span>${text ? html`<pre tabindex="0" aria-label="What it answered" class="wide">${text}</pre>` : null}</li>`)}</ul>`}
    <footer><button type="button" onClick=${closeDialog}>Close</button><${Act} class="primary" icon="refresh" onClick=${() => {
      closeDialog()
      resend(id, delivery, again)
    }}>Send again<//></footer><//>`
}

function Replay({ id, again }) {
  const [which, setWhich] = useState('dead')
  return html`<${Confirm} title="Send again" look="primary" lead="Receivers tell repeated messages apart by their id." button=${which === 'dead' ? 'Send what was given up' : 'Send everything'} deed=${() => tell('POST', `/operator/webhooks/${id}/replay`, { which })} done=${({
    queued,
  }) => {
    toast(`${number(queued)} are on their way`)
    again()
  }}><div class="choices">${[
    ['dead', 'What was given up', 'Only messages that never reached it.'],
    ['all', 'Everything', 'The whole log of this receiver, from its beginning.'],
  ].map(
    ([value, title, words]) =>
      html`<label class="choice"><input type="radio" name="which" checked=${which === value} onChange=${() => setWhich(value)} /><span><b>${title}</b><small>${words}</small></span></label>`,
  )}</div><//>`
}

function Rotate({ hook, again }) {
  return html`<${Confirm} title="A new secret" look="primary" button="Make it" lead="The old one signs beside it for a day, so that the receiver can change over." deed=${() => tell('POST', `/operator/webhooks/${hook.id}/rotate`)} done=${(
    made,
  ) => {
    again()
    openDialog(Secret, { made })
  }}><${Facts} rows=${[['Receiver', html`<code>${hook.url}</code>`]]} /><//>`
}

function Disable({ hook, again }) {
  return html`<${Confirm} title="Tell it nothing for now" look="primary" button="Disable it" lead="What happens meanwhile is kept, and sent when it is enabled again." reason=${{ label: 'Reason' }} deed=${(reason) => tell('POST', `/operator/webhooks/${hook.id}/disable`, { reason })} done=${() => {
    toast('It is told nothing for now')
    again()
  }}><${Facts} rows=${[['Receiver', html`<code>${hook.url}</code>`]]} /><//>`
}

function Remove({ hook }) {
  return html`<${Confirm} title="Remove ${hostOf(hook.url)}" button="Remove it and its log" lead="It is never told of anything again, and its log of deliveries goes. This cannot be undone." deed=${() => tell('DELETE', `/operator/webhooks/${hook.id}`)} done=${() => {
    toast('It is removed')
    go('/operator/webhooks')
  }}><${Facts} rows=${[['Receiver', html`<code>${hook.url}</code>`]]} /><//>`
}
