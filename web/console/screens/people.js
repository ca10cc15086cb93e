// Who runs the shop: people, their roles, and where they are signed in.
import { useState } from 'preact/hooks'
import { useData } from '../data.js'
import { Confirm, Dialog, Field, Refusal, useDeed } from '../dialog.js'
import { closeDialog, openDialog, toast } from '../over.js'
import { Act, Badge, copy, Empty, Facts, Head, html, Link, later, Panel, Rows, Status, When } from '../parts.js'
import { me, refusalFor, tell } from '../shop.js'
import { timeOf } from '../words.js'

const Qr = later(() => import('../qr.js'), 'Qr')

const ROLES = [
  ['viewer', 'Viewer', 'Reads everything, changes nothing.'],
  ['support', 'Support', 'Retries, decides, notes, and refunds within a daily budget.'],
  ['admin', 'Admin', 'Does all, and manages people.'],
]

export default function People() {
  const isPeople = ({ type, data }) => type === 'operator.acted' && /operator|session|token/.test(data?.deed ?? '')
  const people = useData('/operator/operators', { when: isPeople })
  const isAdmin = refusalFor('admin') === null
  const sessions = useData(isAdmin ? '/operator/sessions' : null, { when: isPeople, every: 30_000 })
  const tokens = useData(isAdmin ? '/operator/tokens?of=all' : '/operator/tokens', { when: isPeople })
  const again = () => {
    people.again()
    sessions.again()
    tokens.again()
  }
  const columns = [
    {
      name: 'Name',
      isHead: true,
      cell: ({ name, id }) => html`${name}${id === me.value?.operator?.id ? html` <${Badge} tone="go">you<//>` : null}`,
    },
    {
      name: 'Role',
      className: 'lead',
      cell: ({ role, state }) => (state === 'revoked' ? html`<${Status} of="revoked" />` : role),
    },
    { name: 'Sessions', isNumber: true, phone: 'sessions', cell: ({ sessions }) => sessions },
    { name: 'Tokens', isNumber: true, phone: 'tokens', cell: ({ tokens }) => tokens },
    { name: 'Last seen', isNumber: true, cell: ({ seenAt }) => html`<${When} at=${seenAt} />` },
    {
      name: '',
      className: 'n',
      cell: (person) =>
        person.state === 'revoked'
          ? null
          : html`<span class="acts"><${Act} role="admin" class="quiet" onClick=${() => openDialog(Role, { person, again })}>Role…<//><${Act} role="admin" class="quiet" onClick=${() => openDialog(NewLink, { person })}>Link…<//><${Act} role="admin" class="quiet" onClick=${() => openDialog(Revoke, { person, again })}>Revoke…<//></span>`,
    },
  ]
  return html`<${Head} title="People"><${Act} role="admin" class="primary" icon="plus" onClick=${() => openDialog(Invite, { again })}>Invite<//><//>
    <div class="stack"><${Panel} of=${people} label="People" flush=${true} height=${200} empty=${({ operators }) => (operators.length === 0 ? html`<${Empty} icon="people" title="Nobody but the shop’s own token" acts=${html`<${Act} role="admin" class="primary" icon="plus" onClick=${() => openDialog(Invite, { again })}>Invite the first<//>`}>A person has a name in the audit log, a role, and can be sent away. A shared token has none of it.<//>` : null)}>${({ operators }) => html`<${Rows} rows=${operators} columns=${columns} label="People" keyOf=${({ id }) => id} />`}<//>
    ${isAdmin ? html`<${Panel} of=${sessions} title="Signed in now" height=${120} empty=${(data) => (data.sessions.length === 0 ? html`<p class="soft">Nobody, but for tokens.</p>` : null)}>${(data) => html`<ul class="rows">${data.sessions.map((session) => html`<li key=${session.id}><span class="grow"><b>${session.operator?.name ?? session.name}</b>${session.isThis ? html` <${Badge} tone="go">this one<//>` : null}<small class="block soft cut">${session.device || 'unknown device'} from ${session.address}</small></span><span class="soft small">seen <${When} at=${session.seenAt} />, ends ${timeOf(session.expiresAt)}</span><span class="end"><${Act} role="admin" onClick=${() => openDialog(End, { session, again })}>End…<//></span></li>`)}</ul>`}<//>` : null}
    <${Tokens} of=${tokens} again=${again} />
    <p class="soft small">What people did is in <${Link} to="/operator/audit">Audit<//>.</p></div>`
}

/** Keys for the command line: your own, and for an admin everybody's. */
function Tokens({ of, again }) {
  const make = html`<button type="button" onClick=${() => openDialog(NewToken, { again })}>New token…</button>`
  return html`<${Panel} of=${of} title="Personal tokens" height=${80} tools=${make} empty=${(data) => (data.tokens.length === 0 ? html`<p class="soft">None. A token lets a command or a script in under your name.</p>` : null)}>${(data) => html`<ul class="rows">${data.tokens.map((token) => html`<li key=${token.id}><span class="grow"><b>${token.name || token.id}</b> <span class="soft">${token.operator}</span><small class="block soft">made <${When} at=${token.madeAt} />, ${token.usedAt ? html`used <${When} at=${token.usedAt} />` : 'never used'}, ends ${timeOf(token.expiresAt)}</small></span><span class="end"><button type="button" onClick=${() => openDialog(EndToken, { token, again })}>Revoke…</button></span></li>`)}</ul>`}<//>`
}

function NewToken({ again }) {
  const { run, fault, isBusy } = useDeed()
  const [name, setName] = useState('')
  const [days, setDays] = useState('90')
  return html`<${Dialog} title="A token for the command line" lead="Whoever holds it acts in your name. It is shown once."><form class="bare" onSubmit=${(
    event,
  ) => {
    event.preventDefault()
    run(async () => {
      const made = await tell('POST', '/operator/tokens', { name: name.trim(), days: Number(days) })
      again()
      openDialog(OneTime, { made: { name: made.name, token: made } })
    })
  }}><${Field} label="What it is for" name="name" value=${name} onInput=${setName} fault=${fault} required data-focus maxlength="60" /><${Field} label="Days" name="days" type="number" min="1" max="365" value=${days} onInput=${setDays} fault=${fault} required /><${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy}>Make it</button></footer></form><//>`
}

function EndToken({ token, again }) {
  return html`<${Confirm} title="Revoke the token ${token.name}" button="Revoke it" lead="Whatever uses it is refused from now on, and so is whoever signed in with it." deed=${() => tell('DELETE', `/operator/tokens/${token.id}`)} done=${() => {
    toast('The token is revoked')
    again()
  }}><${Facts} rows=${[['Of', token.operator], ['Ends', timeOf(token.expiresAt)]]} /><//>`
}

const RoleChoice = ({ role, setRole }) =>
  html`<fieldset class="roles"><legend>Role</legend>${ROLES.map(([id, name, words]) => html`<label class="choice"><input type="radio" name="role" value=${id} checked=${role === id} onChange=${() => setRole(id)} /><span><b>${name}</b><small>${words}</small></span></label>`)}</fieldset>`

function Invite({ again }) {
  const { run, fault, isBusy } = useDeed()
  const [name, setName] = useState('')
  const [role, setRole] = useState('viewer')
  return html`<${Dialog} title="Invite somebody"><form class="bare" onSubmit=${(event) => {
    event.preventDefault()
    run(async () => {
      const made = await tell('POST', '/operator/operators', { name: name.trim(), role })
      again()
      openDialog(OneTime, { made })
    })
  }}><${Field} label="Name" name="name" value=${name} onInput=${setName} fault=${fault} required data-focus hint="As it will stand in the audit log." /><${RoleChoice} role=${role} setRole=${setRole} /><${Refusal} fault=${fault} />
    <footer><button type="button" onClick=${closeDialog}>Cancel</button><button type="submit" class="primary" disabled=${isBusy}>Make the link</button></footer></form><//>`
}

/** The link works once, and is shown once. */
function OneTime({ made }) {
  const url = made.link?.url
  return html`<${Dialog} title=${url ? `A link for ${made.name}` : `Token: ${made.name}`} lead=${url ? `It lets them in once, until ${timeOf(made.link.expiresAt)}. It is not shown again.` : `This token is for the command line, until ${timeOf(made.token?.expiresAt)}. It is not shown again.`}>
    <pre tabindex="0" aria-label="Link">${url ?? made.token?.token}</pre>${url ? html`<${Qr} text=${url} label="The link as a QR code" />` : null}
    <footer><button type="button" data-icon="copy" onClick=${() => copy(url ?? made.token?.token, 'Copied; send it to them alone')}>Copy</button><button type="button" class="primary" onClick=${closeDialog}>Done</button></footer><//>`
}

function NewLink({ person }) {
  return html`<${Confirm} title="Another link for ${person.name}" look="primary" lead="For another computer, or after a session has ended. It works once." button="Make the link" deed=${() => tell('POST', `/operator/operators/${person.id}/link`)} done=${(made) => openDialog(OneTime, { made: { name: person.name, ...made } })} />`
}

function Role({ person, again }) {
  const [role, setRole] = useState(person.role)
  return html`<${Confirm} title="Role of ${person.name}" look="primary" lead="Their sessions end; they sign in again with the new role." no=${role === person.role ? `${person.name} is ${person.role}; choose another role.` : null} button="Make ${person.name} ${role}" deed=${() => tell('POST', `/operator/operators/${person.id}/role`, { role })} done=${() => {
    toast(`${person.name} is ${role}`)
    again()
  }}><${RoleChoice} role=${role} setRole=${setRole} /><//>`
}

function Revoke({ person, again }) {
  return html`<${Confirm} title="Remove ${person.name}" button="Revoke ${person.name}" lead="Sessions and tokens end at once. What they did stays in the audit log." deed=${() => tell('POST', `/operator/operators/${person.id}/revoke`)} done=${() => {
    toast(`${person.name} is let in no more`)
    again()
  }}><${Facts} rows=${[['Role', person.role], ['Sessions', person.sessions]]} /><//>`
}

function End({ session, again }) {
  return html`<${Confirm} title="End this session" button="End it" lead="Their next call is refused; they can sign in again." deed=${() => tell('DELETE', `/operator/sessions/${session.id}`)} done=${() => {
    toast('The session is over')
    again()
  }}><${Facts} rows=${[['Who', session.operator?.name ?? session.name], ['Device', session.device || 'unknown'], ['From', session.address]]} /><//>`
}
