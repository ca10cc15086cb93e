// Signing in: by passkey where there is one, otherwise by a one-time link or a personal token.
import { useEffect, useState } from 'preact/hooks'
import { Refusal, useDeed } from './dialog.js'
import { html } from './parts.js'
import { tell } from './shop.js'

const hasPasskeys = () => typeof PublicKeyCredential?.parseRequestOptionsFromJSON === 'function'

export async function signInByPasskey() {
  const { options, ...rest } = await tell('POST', '/operator/passkeys/challenge')
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(options ?? rest)
  const credential = /** @type {any} */ (await navigator.credentials.get({ publicKey }))
  return tell('POST', '/operator/passkeys/verify', { ...(options ? rest : {}), credential: credential.toJSON() })
}

export async function addPasskey(name) {
  const { options, ...rest } = await tell('POST', '/operator/passkeys/options')
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options ?? rest)
  const credential = /** @type {any} */ (await navigator.credentials.create({ publicKey }))
  return tell('POST', '/operator/passkeys/register', {
    ...(options ? rest : {}),
    name,
    credential: credential.toJSON(),
  })
}

/** @param {{ done: () => void, token?: string }} props */
export function SignIn({ done, token = '' }) {
  const [text, setText] = useState(token)
  const { run, fault, isBusy } = useDeed()
  const enter = (secret) =>
    run(async () => {
      await tell('POST', '/operator/session', { token: secret })
      await done()
    })
  useEffect(() => {
    if (token) enter(token)
  }, [])
  return html`<form class="signin" onSubmit=${(event) => {
    event.preventDefault()
    enter(text.trim())
  }}>
    ${
      hasPasskeys()
        ? html`<button type="button" class="primary wide" data-icon="key" disabled=${isBusy} onClick=${() =>
            run(async () => {
              await signInByPasskey()
              await done()
            })}>Sign in with a passkey</button><div class="or">or</div>`
        : null
    }
    <label class="field">Token or one-time link<input type="password" name="token" required autocomplete="current-password" value=${text} onInput=${(event) => setText(event.currentTarget.value.replace(/^.*#/, ''))} placeholder="Paste it here" /><small>An admin makes a link in People; in a terminal, <code>sutler operators add</code> does.</small></label>
    <${Refusal} fault=${fault} />
    <button type="submit" class="wide ${hasPasskeys() ? '' : 'primary'}" disabled=${isBusy}>${isBusy ? 'Signing in…' : 'Sign in'}</button></form>`
}
