// Where somebody comes in. A one-time link carries its token behind the #, which no server and no log sees.
import { useState } from 'preact/hooks'
import { Refusal, useDeed } from '../dialog.js'
import { Head, html } from '../parts.js'
import { addPasskey, SignIn } from '../signin.js'

export default function Enter() {
  const [token] = useState(() => {
    const given = location.hash.slice(1)
    // Gone from the address at once: it is not to stay in the history, nor to be copied from there.
    if (given) history.replaceState(null, '', location.pathname)
    return given
  })
  const [isIn, setIn] = useState(false)
  const { run, fault, isBusy } = useDeed()
  const open = () => location.assign('/operator')
  const canHavePasskey = typeof PublicKeyCredential?.parseCreationOptionsFromJSON === 'function'
  return html`<div class="card enter"><div class="brand"><img src=${document.querySelector('link[rel=icon]').href} width="36" height="36" alt="" /><span><b>${document.body.dataset.shop}</b><small>Operator’s console${document.body.dataset.mode === 'sandbox' ? ', sandbox' : ''}</small></span></div>
    ${
      isIn
        ? html`<${Head} title="You are signed in" sub="A passkey signs you in next time with a touch, and nothing to keep secret." /><${Refusal} fault=${fault} />
        <button type="button" class="primary wide" data-icon="key" disabled=${isBusy} onClick=${() =>
          run(async () => {
            await addPasskey(navigator.platform || 'This device')
            open()
          })}>Add a passkey on this device</button><button type="button" class="wide" onClick=${open}>Not now, open the console</button>`
        : html`<${Head} title="Sign in" /><${SignIn} token=${token} done=${() => (token && canHavePasskey ? setIn(true) : open())} />`
    }</div>`
}
