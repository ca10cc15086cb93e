// The frame around every screen: bar, side bar, banner, keys, palette, sign-in over the page.
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { state } from './live.js'
import { openDialog, opened, toasts } from './over.js'
import { html, Link, later } from './parts.js'
import { go, isOffline, isSessionOver, me, route } from './shop.js'
import { railName } from './words.js'

/** The places, as the page's own side bar lists them. */
export const places = /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll('#places a')]).map((link) => ({
  path: new URL(link.href).pathname,
  name: link.textContent.trim(),
  key: link.dataset.key,
  icon: link.dataset.icon,
}))

/** Protocols by which nothing is sold because somebody said so. @type {import('@preact/signals').Signal<any[]>} */
export const paused = signal([])

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
    for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (
      document.querySelectorAll('#places a, #tabs a:not([href="#more"])')
    )) {
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
      if (link.getAttribute('href') === '#more') openLater('AllPlaces')
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
  return html`<button type="button" class="find" data-icon="search" onClick=${() => openLater('Palette')} aria-label="Find anything: an order, transaction, payer or player"><span>Find anything</span><kbd aria-hidden="true">/</kbd></button>
    <span class="live ${live}" role="status"><i></i><span>${words[live]}</span></span>
    <button type="button" class="quiet icon" data-icon=${{ auto: 'auto', light: 'sun', dark: 'moon' }[theme.value]} onClick=${nextTheme} aria-label="Theme: ${theme.value}. Change it" title="Theme: ${theme.value}"></button>
    <button type="button" class="quiet icon" onClick=${() => openLater('Keys')} aria-label="Keys" title="Keys">?</button>`
}

/** What everybody should know, whichever screen they are on. */
export function Banner() {
  const pauses = paused.value
  return html`${isOffline.value ? html`<div class="strip bad" data-icon="off" role="alert">The shop cannot be reached. What you see is what was known last; nothing can be changed until it is back.</div>` : null}
    ${pauses.map(({ rail, reason, by }) => html`<div class="strip" data-icon="pause" role="status">Sales by ${railName(rail)} are paused${by ? ` by ${by}` : ''}: ${reason} <${Link} to="/operator/system">Resume…<//></div>`)}`
}

export function Me() {
  const { operator } = me.value ?? {}
  if (!operator) return null
  return html`<button type="button" onClick=${() => openLater('Account')} aria-haspopup="dialog"><span class="face" aria-hidden="true">${operator.name.trim().charAt(0).toUpperCase()}</span><span>${operator.name}<small>${operator.role}${operator.via === 'sandbox' ? ', sandbox' : ''}</small></span></button>`
}

/** Most visits sign in elsewhere. */
const SessionOver = later(() => import('./signin.js'), 'SignInAgain')

export function Over() {
  const open = opened.value
  return html`${open && !isSessionOver.value ? html`<${open.component} key=${open.id} ...${open.props} />` : null}
    ${isSessionOver.value ? html`<${SessionOver} />` : null}
    <div class="toasts" role="status">${toasts.value.map(({ id, text, icon }) => html`<div class="toast" key=${id} data-icon=${icon}>${text}</div>`)}</div>`
}

export function areKeysOn() {
  return localStorage.getItem('keys') !== 'off'
}

/** @param {'Palette' | 'Keys' | 'AllPlaces' | 'Account'} name */
async function openLater(name) {
  openDialog((await import('./palette.js'))[name])
}

/** Keys that work on every screen. The others are heard by the screen itself, as `rowkey`. */
export function startKeys() {
  let before = ''
  addEventListener('keydown', (event) => {
    const target = /** @type {Element} */ (event.target)
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault()
      if (!isSessionOver.value) openLater('Palette')
      return
    }
    const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName ?? '')
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
    const isOnControl = target.closest?.('a, button, [role="option"]')
    if (event.key === '/') openLater('Palette')
    else if (event.key === '?') openLater('Keys')
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
