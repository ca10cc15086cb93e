// Signing in: by passkey where there is one, otherwise by a one-time link or a personal token.
import { useEffect, useState } from 'preact/hooks'
import { Dialog, Refusal, useDeed } from './dialog.js'
import { toast } from './over.js'
import { html } from './parts.js'
import { ask, Fault, me, signedIn, signInFor, tell } from './shop.js'

/** Can this browser make and use passkeys here? Only over https, or on this machine. */
export const hasPasskeys = () => typeof globalThis.PublicKeyCredential?.parseRequestOptionsFromJSON === 'function'

/** The browser's own words for "the person did not want to" help nobody. */
async function askDevice(question) {
  try {
    return /** @type {any} */ (await question).toJSON()
  } catch (error) {
    const isRefusal = error instanceof DOMException && error.name === 'NotAllowedError'
    throw new Fault({
      status: 0,
      code: 'passkey',
      detail: isRefusal
        ? 'No passkey was used: it was cancelled, or this device has none for this shop.'
        : `The device could not do it: ${error.message}`,
    })
  }
}

async function signInByPasskey() {
  const options = await tell('POST', '/operator/passkeys/challenge')
  const credential = await askDevice(
    navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) }),
  )
  return tell('POST', '/operator/passkeys/verify', { credential })
}

/** @param {string} name */
export async function addPasskey(name) {
  const options = await tell('POST', '/operator/passkeys/options')
  const credential = await askDevice(
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) }),
  )
  return tell('POST', '/operator/passkeys/register', { name, credential })
}

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
    ${
      hasPasskeys()
        ? html`<button type="button" class="wide" data-icon="key" disabled=${isBusy} onClick=${() =>
            run(async () => {
              await signInByPasskey()
              await done()
            })}>Sign in with a passkey</button><div class="or">or</div>`
        : null
    }
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
