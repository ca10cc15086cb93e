// Signing in: by a one-time link or a personal token.
import { useEffect, useState } from 'preact/hooks'
import { Dialog, Refusal, useDeed } from './dialog.js'
import { toast } from './over.js'
import { html } from './parts.js'
import { ask, me, signedIn, signInFor, tell } from './shop.js'

/**
 * A link says whom it lets in, and waits for a press: somebody who was sent another's link must not find themselves signed in as them.
 * @param {{ done: () => any, token: string }} props
 */
export function ByLink({ done, token }) {
  const [look, setLook] = useState(null)
  const { run, fault, isBusy } = useDeed()
  useEffect(() => {
    run(async () => setLook(await tell('POST', '/operator/session/look', { token })))
  }, [])
  if (!look && !fault) return html`<p class="soft" role="status">Looking at the link…</p>`
  if (!look) return html`<${Refusal} fault=${fault} /><${SignIn} done=${done} />`
  const { name, role } = look.operator ?? { name: 'admin', role: 'the first admin' }
  return html`<p>This link is for <b>${name}</b>, ${role} of this shop.</p>${look.signedInAs ? html`<p class="soft">You are signed in as ${look.signedInAs}; that session ends.</p>` : null}<p class="soft small">Not you? Close this page: whatever is done here stands under ${name}’s name.</p><${Refusal} fault=${fault} />
    <button type="button" class="primary wide" disabled=${isBusy} onClick=${() =>
      run(async () => {
        await tell('POST', '/operator/session', { token })
        await done()
      })}>Sign in as ${name}</button>`
}

/** @param {{ done: () => any }} props */
export function SignIn({ done }) {
  const [text, setText] = useState('')
  const { run, fault, isBusy } = useDeed()
  const enter = (secret) =>
    run(async () => {
      await tell('POST', '/operator/session', { token: secret })
      await done()
    })
  return html`<form class="signin" onSubmit=${(event) => {
    event.preventDefault()
    enter(text.trim())
  }}>
    <div class="field"><label for="token">Token or one-time link</label><input id="token" type="text" class="secret" name="token" required autocomplete="off" spellcheck=${false} value=${text} onInput=${(event) => setText(event.currentTarget.value.replace(/^.*#/, '').replace(/&.*$/, ''))} placeholder="Paste it here" /><small>An admin makes a link in People; in a terminal, <code>sutler operators add</code> does.</small></div>
    <${Refusal} fault=${fault} />
    <button type="submit" class="wide primary" disabled=${isBusy}>${isBusy ? 'Signing in…' : 'Sign in'}</button></form>`
}

/** A session that ended lies over the page; what was asked for goes on when somebody is signed in again. */
export function SignInAgain() {
  return html`<${Dialog} label="Sign in again" isKept=${true} onClose=${() => {}}><div class="inner"><div><h2>${signInFor.value ? 'Sign in again for this' : me.value ? 'Your session is over' : 'Sign in'}</h2><p class="lead">${signInFor.value ?? (me.value ? 'Sign in again; the page is as you left it.' : 'This page needs an operator.')}</p></div>
    <${SignIn} done=${async () => {
      me.value = await ask('/operator/me').catch(() => me.value)
      signedIn()
    }} />${
      signInFor.value
        ? html`<button type="button" class="wide" onClick=${() => {
            signedIn(false)
            toast('Nothing was done', 'warn')
          }}>Not now</button>`
        : null
    }</div><//>`
}
