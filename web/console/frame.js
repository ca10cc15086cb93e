// The frame around every screen: bar, side bar, banner, keys, palette, sign-in over the page.
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { forgetAll } from './data.js'
import { Dialog, Refusal, useDeed } from './dialog.js'
import { state } from './live.js'
import { closeDialog, openDialog, opened, toasts } from './over.js'
import { html, Icon, Link } from './parts.js'
import { ask, go, isOffline, isSessionOver, me, route, signedIn, tell } from './shop.js'
import { SignIn } from './signin.js'

/** The places, as the page's own side bar lists them. */
export const places = [...document.querySelectorAll('#places a')].map((link) => ({
  path: new URL(link.href).pathname,
  name: link.textContent.trim(),
  key: link.dataset.key,
  icon: link.dataset.icon,
}))

/** How many things wait for a person; null until that is known. */
export const waiting = signal(null)

export const theme = signal(document.documentElement.dataset.theme ?? 'auto')
const THEMES = { auto: 'light', light: 'dark', dark: 'auto' }
export function nextTheme() {
  theme.value = THEMES[theme.value] ?? 'auto'
  document.documentElement.dataset.theme = theme.value
  localStorage.setItem('theme', theme.value)
}

/** The links of the shell are plain: marked here, and followed without loading the page anew. */
export function Places() {
  const { pathname } = route.value
  const count = waiting.value
  useEffect(() => {
    for (const link of document.querySelectorAll('#places a, #tabs a:not([href="#more"])')) {
      const to = new URL(link.href).pathname
      const isHere = to === '/operator' ? pathname === to : pathname === to || pathname.startsWith(`${to}/`)
      if (isHere) link.setAttribute('aria-current', 'page')
      else link.removeAttribute('aria-current')
      if (to !== '/operator') continue
      link.querySelector('.count')?.remove()
      if (!count) continue
      const badge = document.createElement('b')
      badge.className = 'count'
      badge.textContent = String(count)
      badge.setAttribute('aria-label', `${count} waiting`)
      link.append(badge)
    }
  }, [pathname, count])
  useEffect(() => {
    const follow = (event) => {
      const link = event.target.closest('#places a, #tabs a, .side .brand')
      if (!link || event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return
      event.preventDefault()
      if (link.getAttribute('href') === '#more') openDialog(AllPlaces)
      else go(link.getAttribute('href'))
    }
    document.addEventListener('click', follow)
    return () => document.removeEventListener('click', follow)
  }, [])
  return null
}

export function Bar() {
  const words = { on: 'Live', waiting: 'Connecting', lost: 'Reconnecting' }
  const live = isOffline.value ? 'lost' : state.value
  return html`<button type="button" class="find" data-icon="search" onClick=${() => openDialog(Palette)} aria-label="Find an order, transaction, payer or player"><span>Find anything</span><kbd>/</kbd></button>
    <span class="live ${live}" role="status"><i></i><span>${words[live]}</span></span>
    <button type="button" class="quiet icon" data-icon=${{ auto: 'auto', light: 'sun', dark: 'moon' }[theme.value]} onClick=${nextTheme} aria-label="Theme: ${theme.value}. Change it" title="Theme: ${theme.value}"></button>
    <button type="button" class="quiet icon" onClick=${() => openDialog(Keys)} aria-label="Keys" title="Keys">?</button>`
}

/** What everybody should know, whichever screen they are on. */
export function Banner() {
  const pauses = me.value?.shop?.paused ?? []
  return html`${isOffline.value ? html`<div class="strip bad" data-icon="off" role="alert">The shop cannot be reached. What you see is what was known last; nothing can be changed until it is back.</div>` : null}
    ${pauses.map(({ rail, reason, by }) => html`<div class="strip" data-icon="pause" role="status">Sales by ${rail} are paused${by ? ` by ${by}` : ''}: ${reason} <${Link} to="/operator/system">Resume…<//></div>`)}`
}

export function Me() {
  const { operator } = me.value ?? {}
  if (!operator) return null
  return html`<button type="button" onClick=${() => openDialog(Account)} aria-haspopup="dialog"><span class="face" aria-hidden="true">${operator.name.trim().charAt(0).toUpperCase()}</span><span>${operator.name}<small>${operator.role}${operator.via === 'sandbox' ? ', sandbox' : ''}</small></span></button>`
}

export async function signOut() {
  await tell('DELETE', '/operator/session')
  forgetAll()
  location.assign('/operator/enter')
}

function Account() {
  const { operator, shop } = me.value
  const { run, fault, isBusy } = useDeed()
  return html`<${Dialog} title=${operator.name} lead="${operator.role} of ${shop?.name ?? document.body.dataset.shop}">
    <${Refusal} fault=${fault} />
    <p class="soft small">Roles: a viewer reads; support retries, decides, notes and refunds within a budget; an admin does all and manages people.</p>
    <footer><${Link} class="button" to="/operator/people" onClickCapture=${closeDialog}>People and sessions<//><button type="button" data-icon="out" disabled=${isBusy} onClick=${() => run(signOut)}>Sign out</button></footer><//>`
}

function AllPlaces() {
  return html`<${Dialog} title="Places"><nav class="all" aria-label="All places">${places.map(({ path, name, icon }) => html`<${Link} to=${path} data-icon=${icon} onClickCapture=${() => setTimeout(closeDialog)} aria-current=${route.value.pathname === path ? 'page' : undefined}>${name}<//>`)}</nav>
    ${me.value?.operator ? html`<footer><button type="button" data-icon="person" onClick=${() => openDialog(Account)}>${me.value.operator.name}</button></footer>` : null}<//>`
}

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
export function areKeysOn() {
  return localStorage.getItem('keys') !== 'off'
}
function Keys() {
  const [isOn, setOn] = useState(areKeysOn())
  return html`<${Dialog} title="Keys">
    <label class="tick"><input type="checkbox" checked=${isOn} onChange=${(event) => {
      localStorage.setItem('keys', event.currentTarget.checked ? 'on' : 'off')
      setOn(event.currentTarget.checked)
    }} /> <span>Single keys do something. Turn this off when you speak to your computer, or press keys by accident.</span></label>
    <dl class="keys">${KEYS.map(([keys, what]) => html`<dt>${keys.map((key) => html`<kbd>${key}</kbd>`)}</dt><dd>${what}</dd>`)}
    ${places.map(({ key, name }) => html`<dt><kbd>g</kbd><kbd>${key}</kbd></dt><dd>${name}</dd>`)}</dl><//>`
}

const ICONS = { order: 'orders', arrival: 'arrival', player: 'person', payer: 'wallet', webhook: 'hook', item: 'tag' }

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
      .map(({ path, name, key, icon }) => ({ icon, name, keys: `g ${key}`, run: leave(() => go(path)), href: path })),
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

/** A session that ended lies over the page; what was asked for goes on when somebody is signed in again. */
function SessionOver() {
  return html`<${Dialog} label="Sign in again" isKept=${true} onClose=${() => {}}><div class="inner"><div><h2>${me.value ? 'Your session is over' : 'Sign in'}</h2><p class="lead">${me.value ? 'Sign in again; the page is as you left it.' : 'This page needs an operator.'}</p></div>
    <${SignIn} done=${async () => {
      me.value = await ask('/operator/me').catch(() => me.value)
      signedIn()
    }} /></div><//>`
}

export function Over() {
  const open = opened.value
  return html`${open && !isSessionOver.value ? html`<${open.component} key=${open.id} ...${open.props} />` : null}
    ${isSessionOver.value ? html`<${SessionOver} />` : null}
    <div class="toasts" role="status">${toasts.value.map(({ id, text, icon }) => html`<div class="toast" key=${id} data-icon=${icon}>${text}</div>`)}</div>`
}

/** Keys that work on every screen. The others are heard by the screen itself, as `rowkey`. */
export function startKeys() {
  let before = ''
  addEventListener('keydown', (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      if (!isSessionOver.value) openDialog(Palette)
      return
    }
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName ?? '')
    if (
      isTyping ||
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      document.querySelector('dialog[open]') ||
      !areKeysOn()
    )
      return
    const first = before
    before = event.key
    const place = first === 'g' && places.find(({ key }) => key === event.key)
    if (place) return go(place.path)
    const isOnControl = event.target.closest?.('a, button, [role="option"]')
    if (event.key === '/') openDialog(Palette)
    else if (event.key === '?') openDialog(Keys)
    else if (event.key === 't') nextTheme()
    else if ((event.key === 'Enter' || event.key === ' ') && isOnControl) return
    else {
      const told = new CustomEvent('rowkey', {
        detail: { key: event.key === 'X' ? 'x' : event.key, isShift: event.shiftKey },
        cancelable: true,
      })
      document.getElementById('main').dispatchEvent(told)
      if (!told.defaultPrevented) return
    }
    event.preventDefault()
  })
}
