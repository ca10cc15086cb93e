// What opens over the page by a key: find, the list of keys, all places, who I am. Loaded when somebody first asks for it.
import { useEffect, useRef, useState } from 'preact/hooks'
import { forgetAll } from './data.js'
import { Dialog, Refusal, useDeed } from './dialog.js'
import { areKeysOn, nextTheme, places } from './frame.js'
import { closeDialog, openDialog } from './over.js'
import { html, Icon, Link } from './parts.js'
import { ask, go, me, route, tell } from './shop.js'

async function signOut() {
  await tell('DELETE', '/operator/session')
  forgetAll()
  location.assign('/operator/enter')
}

export function Account() {
  const { operator, shop } = me.value
  const { run, fault, isBusy } = useDeed()
  return html`<${Dialog} title=${operator.name} lead="${operator.role} of ${shop?.name ?? document.body.dataset.shop}">
    <${Refusal} fault=${fault} />
    <p class="soft small">Roles: a viewer reads; support retries, decides, notes and refunds within a budget; an admin does all and manages people.</p>
    <footer><${Link} class="button" to="/operator/people" onClickCapture=${closeDialog}>People and sessions<//><button type="button" data-icon="out" disabled=${isBusy} onClick=${() => run(signOut)}>Sign out</button></footer><//>`
}

export function AllPlaces() {
  return html`<${Dialog} title="Places"><nav class="all" aria-label="All places">${places.map(({ path, name, icon }) => html`<${Link} to=${path} data-icon=${icon} onClickCapture=${() => setTimeout(closeDialog)} aria-current=${route.value.pathname === path ? 'page' : undefined}>${name}<//>`)}</nav>
    ${me.value?.operator ? html`<footer><button type="button" data-icon="person" onClick=${() => openDialog(Account)}>${me.value.operator.name}</button></footer>` : null}<//>`
}

/** @type {[string[], string][]} */
const KEYS = [
  [['/'], 'Find anything'],
  [['Ctrl', 'K'], 'The same, from inside a field too'],
  [['j'], 'Next row'],
  [['k'], 'Row before'],
  [['Enter'], 'Open the row'],
  [['x'], 'Select the row; with Shift, all from the last one'],
  [['e'], 'Act on the row'],
  [['r'], 'Refund, on an order'],
  [['n'], 'Note, on an order'],
  [['c'], 'Copy the address of what you see'],
  [['Space'], 'Pause and go on, in Live'],
  [['t'], 'Theme'],
  [['?'], 'This list'],
  [['Esc'], 'Close what lies over the page'],
]
export function Keys() {
  const [isOn, setOn] = useState(areKeysOn())
  return html`<${Dialog} title="Keys">
    <label class="tick"><input type="checkbox" checked=${isOn} onChange=${(event) => {
      localStorage.setItem('keys', event.currentTarget.checked ? 'on' : 'off')
      setOn(event.currentTarget.checked)
    }} /> <span>Single keys do something. Turn this off when you speak to your computer, or press keys by accident.</span></label>
    <dl class="keys">${KEYS.map(([keys, what]) => html`<dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${what}</dd>`)}
    ${places.map(({ key, name }) => html`<dt><kbd>g</kbd><kbd>${key}</kbd></dt><dd>${name}</dd>`)}</dl><//>`
}

const ICONS = { order: 'orders', transfer: 'transfer', player: 'person', payer: 'wallet', webhook: 'hook', item: 'tag' }

/** One box for things and places. What it finds is the shop's to say. */
export function Palette() {
  const [text, setText] = useState('')
  const [found, setFound] = useState({ q: '', matches: [], isAsking: false, fault: null })
  const [at, setAt] = useState(0)
  const q = text.trim()
  useEffect(() => {
    if (q === '') return setFound({ q, matches: [], isAsking: false, fault: null })
    const stop = new AbortController()
    setFound((old) => ({ ...old, isAsking: true }))
    const timer = setTimeout(async () => {
      try {
        const { matches } = await ask(`/operator/search?q=${encodeURIComponent(q)}`, stop.signal)
        setFound({ q, matches, isAsking: false, fault: null })
      } catch (error) {
        if (!stop.signal.aborted) setFound({ q, matches: [], isAsking: false, fault: error })
      }
    }, 160)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [q])
  const leave = (deed) => () => {
    closeDialog()
    deed()
  }
  const isNear = ({ name }) => q === '' || name.toLowerCase().includes(q.toLowerCase())
  /** @type {{ icon: string, name: string, hint?: string, keys?: string, run: () => void }[]} */
  const options = [
    ...(found.q === q ? found.matches : []).map(({ type, title, hint, id, href }) => ({
      icon: ICONS[type] ?? 'spark',
      name: title ?? id,
      hint: hint ?? id,
      run: leave(() => go(href)),
      href,
    })),
    ...places
      .filter(isNear)
      .map(({ path, name, key, icon }) => ({ icon, name, keys: `g ${key}`, run: leave(() => go(path)) })),
    ...[
      { icon: 'auto', name: 'Change the theme', keys: 't', run: leave(nextTheme) },
      { icon: 'spark', name: 'Keys', keys: '?', run: () => openDialog(Keys) },
    ].filter(isNear),
  ]
  const chosen = Math.min(at, options.length - 1)
  const box = useRef(null)
  useEffect(() => {
    box.current?.querySelector('li.at')?.scrollIntoView({ block: 'nearest' })
  }, [chosen])
  const keys = (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (!step) return
    event.preventDefault()
    setAt((chosen + step + options.length) % Math.max(options.length, 1))
  }
  return html`<${Dialog} class="palette" label="Find"><form onSubmit=${(event) => {
    event.preventDefault()
    options[chosen]?.run()
  }} onKeyDown=${keys}>
    <div class="ask"><${Icon} name="search" /><input data-focus role="combobox" aria-expanded="true" aria-controls="found" aria-activedescendant=${options.length > 0 ? `found-${chosen}` : undefined} aria-label="Find an order, transaction, payer, player or place" placeholder="Order, transaction, wallet, player, place" value=${text} onInput=${(
      event,
    ) => {
      setText(event.currentTarget.value)
      setAt(0)
    }} spellcheck=${false} autocomplete="off" /><kbd>Esc</kbd></div>
    <ul id="found" role="listbox" aria-label="Found" ref=${box}>${options.map(({ icon, name, hint, keys, run }, index) => html`<li role="option" id="found-${index}" aria-selected=${index === chosen} class=${index === chosen ? 'at' : ''} onMouseMove=${() => setAt(index)} onClick=${run}><span class="option"><${Icon} name=${icon} /><span>${name}</span>${hint ? html`<small class="mono">${hint}</small>` : keys ? html`<kbd>${keys}</kbd>` : null}</span></li>`)}</ul>
    <p role="status">${found.fault ? found.fault.message : found.isAsking && options.length === 0 ? 'Looking…' : q !== '' && found.q === q && found.matches.length === 0 ? 'The shop knows nothing by this name.' : q === '' ? 'Any id, transaction, nonce, challenge, wallet or nickname.' : ''}</p></form><//>`
}
