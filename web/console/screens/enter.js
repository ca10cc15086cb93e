// Where somebody comes in. A one-time link carries its token behind the #, which no server and no log sees.
import { useEffect, useState } from 'preact/hooks'
import { Field, Refusal, useDeed } from '../dialog.js'
import { Head, html } from '../parts.js'
import { tell } from '../shop.js'
import { ByLink, SignIn } from '../signin.js'

/** What the link says: a token, whether it is of the first admin (who has no name yet), or that this is a sandbox. */
function readLink() {
  const [token = '', ...rest] = location.hash.slice(1).split('&')
  // Gone from the address at once: it is not to stay in the history, nor to be copied from there.
  if (token) history.replaceState(null, '', location.pathname)
  return { token, isFirst: rest.includes('first') }
}

export default function Enter() {
  const [link] = useState(readLink)
  const token = link.token === 'sandbox' ? '' : link.token
  const [name, setName] = useState('')
  const { run, fault, isBusy } = useDeed()
  const open = () => location.assign('/operator')
  const enterSandbox = () =>
    run(async () => {
      const given = await tell('POST', '/sandbox/console')
      await tell('POST', '/operator/session', { token: given.token })
      open()
    })
  useEffect(() => {
    if (link.token === 'sandbox') enterSandbox()
  }, [])
  const isSandbox = document.body.dataset.mode === 'sandbox'
  const first = html`<${Head} title="You are the first" sub="This link makes you an admin. How shall the audit log call you?" /><form class="signin" onSubmit=${(
    event,
  ) => {
    event.preventDefault()
    run(async () => {
      await tell('POST', '/operator/session', { token: link.token, name: name.trim() })
      open()
    })
  }}><${Field} label="Your name" name="name" value=${name} onInput=${setName} fault=${fault} required data-focus /><${Refusal} fault=${fault} /><button type="submit" class="primary wide" disabled=${isBusy}>Come in</button></form>`
  const signIn = html`<${Head} title="Sign in" />${isSandbox ? html`<button type="button" class="primary wide" data-icon="flask" disabled=${isBusy} onClick=${enterSandbox}>Enter the sandbox</button><${Refusal} fault=${fault} /><div class="or">or as somebody</div>` : null}
    <${SignIn} done=${open} />`
  const byLink = html`<${Head} title="Come in" /><${ByLink} token=${token} done=${open} />`
  return html`<div class="card enter"><div class="brand"><img src=${/** @type {HTMLLinkElement} */ (document.querySelector('link[rel=icon]')).href} width="36" height="36" alt="" /><span><b>${document.body.dataset.shop}</b><small>Operator’s console${isSandbox ? ', sandbox' : ''}</small></span></div>${link.isFirst ? first : token ? byLink : signIn}</div>`
}
