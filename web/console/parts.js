// The small parts that every screen is made of.
import { signal } from '@preact/signals'
import htm from 'htm'
import { h } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { now } from './live.js'
import { toast } from './over.js'
import { go, isOffline, refusalFor } from './shop.js'
import { plain, railName, rails, STATUSES, short, span, sum, timeOf, utcOf } from './words.js'

export const html = htm.bind(h)

export const Icon = ({ name }) => html`<i class="i" data-icon=${name} aria-hidden="true"></i>`

/** A part of another module that is loaded when it is first shown. @param {() => Promise<any>} load @param {string} name */
export function later(load, name) {
  const part = signal(null)
  let isAsked = false
  return (props) => {
    if (!isAsked)
      load().then((module) => {
        part.value = module[name]
      })
    isAsked = true
    return part.value && html`<${part.value} ...${props} />`
  }
}

/** Same page where it can be, a new one where somebody asks for it. */
export function Link({ to, children, ...rest }) {
  const follow = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey || event.button !== 0) return
    event.preventDefault()
    go(to)
  }
  return html`<a href=${to} onClick=${follow} ...${rest}>${children}</a>`
}

export function Status({ of, words }) {
  const [icon, tone, name] = STATUSES[of] ?? ['spark', 'off', plain(String(of))]
  return html`<span class="status ${tone}" data-icon=${icon}>${words ?? name}</span>`
}

/** @param {{ tone?: string, icon?: string, children?: any }} props */
export const Badge = ({ tone = 'off', icon, children }) =>
  html`<span class="badge ${tone}" data-icon=${icon}>${children}</span>`

export const Money = ({ amount, currency = '' }) =>
  amount === null || amount === undefined
    ? html`<span class="soft">not known</span>`
    : html`<span class="money"><b>${sum(amount)}</b><small>${currency}</small></span>`

/** Each protocol has its colour on every screen: by its place among those that the shop names. @param {string} name */
export function railClass(name) {
  const place = rails.findIndex((rail) => rail.name === name)
  return `r${place < 0 || place > 2 ? 3 : place}`
}
export const Rail = ({ name }) => (name ? html`<span class="rail ${railClass(name)}">${railName(name)}</span>` : null)

/** The reader's own time with its age; UTC when pointed at. */
export function When({ at, age = true, exact = false }) {
  if (!at) return html`<span class="soft">never</span>`
  return html`<time datetime=${new Date(at).toISOString()} title=${utcOf(at)}>${timeOf(at, { exact })}</time>${age ? html`${' '}<small class="soft"><${Age} at=${at} /></small>` : null}`
}

/** How long ago, or how long until. */
export function Age({ at }) {
  const ms = now.value - new Date(at).getTime()
  return ms < -1500
    ? html`<span>in ${span(-ms)}</span>`
    : html`<span>${ms < 1500 ? 'just now' : `${span(ms)} ago`}</span>`
}

export const For = ({ since }) => html`<span>${span(Math.max(0, now.value - new Date(since).getTime()))}</span>`

export async function copy(text, what = 'Copied') {
  try {
    await navigator.clipboard.writeText(text)
    toast(what)
  } catch {
    toast('The browser did not let us copy; select it and copy it yourself', 'warn')
  }
}

/** Something with a long name: shortened in the middle, a link where it leads somewhere, and whole when copied. */
export function Id({ of, to, href, whole = false }) {
  if (!of) return html`<span class="soft">none</span>`
  const text = whole ? of : short(of)
  const inner = to
    ? html`<${Link} to=${to} title=${of}>${text}<//>`
    : href
      ? html`<a href=${href} target="_blank" rel="noreferrer noopener" title="${of}, in the explorer">${text}</a>`
      : html`<span title=${of}>${text}</span>`
  return html`<span class="id">${inner}<button type="button" data-icon="copy" onClick=${(event) => {
    event.stopPropagation()
    copy(of, `Copied ${short(of)}`)
  }} aria-label="Copy ${text}"></button></span>`
}

/** A button for what not everybody may do: whoever may not sees it, and why. @param {any} props */
export function Act({ role = 'support', no = null, onClick, class: look = '', icon, children, ...rest }) {
  const refusal = no ?? refusalFor(role) ?? (isOffline.value ? 'The shop cannot be reached at the moment.' : null)
  return html`<button type="button" class=${look} data-icon=${icon} aria-disabled=${refusal ? 'true' : undefined} title=${refusal ?? undefined} onClick=${(
    event,
  ) => {
    event.stopPropagation()
    if (refusal) toast(refusal, 'warn')
    else onClick?.(event)
  }} ...${rest}>${children}${refusal ? html`<span class="sr">, not possible: ${refusal}</span>` : null}</button>`
}

/** A panel that fails on its own: skeleton, then data; a fault stands above the data of before, greyed with their age. */
export function Panel({ of, title, note, tools, height = 180, flush = false, empty, children, label, ...rest }) {
  const { data, fault, at, again, isLoading } = of
  const body = data
    ? (empty?.(data) ?? children(data))
    : fault
      ? null
      : html`<div class="skeleton" key="skeleton" ref=${(node) => node?.style.setProperty('min-height', `${height}px`)} aria-hidden="true"></div>`
  return html`<section class="card ${flush ? 'flush' : ''}" aria-label=${title ?? label} aria-busy=${isLoading && !data} ...${rest}>
    ${title ? html`<header><h2>${title}</h2>${note ? html`<small class="soft">${note}</small>` : null}${tools ?? null}</header>` : null}
    ${fault ? html`<${Failed} fault=${fault} again=${again} at=${data ? at : 0} />` : null}
    <div class=${fault && data ? 'stale' : ''}>${body}</div></section>`
}

export function Failed({ fault, again, at = 0 }) {
  return html`<div class="notice bad" data-icon=${fault.status === 0 ? 'off' : 'bad'} role="alert"><div><b>${fault.status === 403 ? 'You may not see this.' : fault.status === 404 ? 'This is not there.' : 'This could not be read.'}</b> ${fault.message}${at ? html` <small>What you see is of ${timeOf(at)}.</small>` : null}</div>${again ? html`<button type="button" data-icon="refresh" onClick=${again}>Try again</button>` : null}</div>`
}

export const Empty = ({ icon = 'ok', title, children, acts }) =>
  html`<div class="empty ${icon === 'ok' ? 'good' : ''}" data-icon=${icon}><h2>${title}</h2><p>${children}</p>${acts ? html`<div class="acts">${acts}</div>` : null}</div>`

export const Notice = ({ tone = 'off', icon, children, acts }) =>
  html`<div class="notice ${tone}" data-icon=${icon ?? tone}><div>${children}</div>${acts ?? null}</div>`

/** The head of a screen. Its heading is the page's title and gets the focus when the place changes. */
export function Head({ title, heading: shown, sub, children, crumbs }) {
  const heading = useRef(null)
  useEffect(() => {
    document.title = `${title} · ${document.body.dataset.shop}`
  }, [title])
  return html`${crumbs ? html`<nav class="crumbs" aria-label="Where this is">${crumbs}</nav>` : null}
    <div class="head"><h1 tabindex="-1" ref=${heading}>${shown ?? title}</h1>${children ? html`<div class="acts">${children}</div>` : null}${sub ? html`<p class="sub">${sub}</p>` : null}</div>`
}

/**
 * Rows that are walked with j and k: Enter opens, x selects, e acts. Which one we are at, and where to find them.
 * Who hears the page instead of seeing it hears the row as well, because its link has the focus.
 * @param {{ rows: any[], to?: (row: any) => string | null, onPick?: (row: any, isShift: boolean) => void, act?: (row: any) => void }} how
 * @returns {[number, any]}
 */
export function useWalk({ rows, to, onPick, act }) {
  const [at, setAt] = useState(-1)
  const box = useRef(null)
  const state = useRef(null)
  state.current = { at, rows, to, onPick, act }
  useLayoutEffect(() => {
    const move = (event) => {
      const { at, rows, to, onPick, act } = state.current
      const { key, isShift } = event.detail
      if (key === 'j' || key === 'k') {
        const next = Math.max(0, Math.min(rows.length - 1, at + (key === 'j' ? 1 : -1)))
        setAt(next)
        const row = box.current?.querySelectorAll('[data-row]')[next]
        row?.scrollIntoView({ block: 'nearest' })
        row?.querySelector('th a, th button, [data-open]')?.focus({ preventScroll: true })
        event.preventDefault()
      } else if (at >= 0 && rows[at]) {
        if (key === 'Enter' && to?.(rows[at])) go(to(rows[at]))
        else if (key === 'x' && onPick) onPick(rows[at], isShift)
        else if (key === 'e' && act) act(rows[at])
        else return
        event.preventDefault()
      }
    }
    const main = document.getElementById('main')
    main.addEventListener('rowkey', move)
    return () => main.removeEventListener('rowkey', move)
  }, [])
  return [at, box]
}

/**
 * A table whose rows open something. Moved through with j and k, opened with Enter; clicking selects text first of all.
 * A column is `{ name, cell(row), isNumber?, isHead?, className?, label? }`.
 */
export function Rows({ rows, columns, to, label, keyOf, picked, onPick, act }) {
  const [at, table] = useWalk({ rows, to, onPick, act })
  const follow = (event, row) => {
    if (!to || event.target.closest('a, button, input, label') || getSelection()?.toString()) return
    if (event.metaKey || event.ctrlKey) open(to(row), '_blank')
    else go(to(row))
  }
  return html`<div class="sheet" tabindex="0" role="group" aria-label=${label}><table class="cards" ref=${table}>
    <thead><tr>${columns.map((column) => html`<th scope="col" class=${column.isNumber ? 'n' : ''}>${column.name ? column.name : html`<span class="sr">${column.label ?? 'Actions'}</span>`}</th>`)}</tr></thead>
    <tbody>${rows.map(
      (row, index) =>
        html`<tr key=${keyOf(row)} data-row data-to=${to ? '' : undefined} class="${index === at ? 'at' : ''} ${picked?.has(keyOf(row)) ? 'picked' : ''}" onClick=${(event) => follow(event, row)}>${columns.map(
          ({ cell, isHead, isNumber, className = '', phone }) => {
            const classes = `${isNumber ? 'n ' : ''}${className}`
            return isHead
              ? html`<th scope="row" class=${classes}>${cell(row)}</th>`
              : html`<td class=${classes} data-label=${phone}>${cell(row)}</td>`
          },
        )}</tr>`,
    )}</tbody></table></div>`
}

/** One of a few, in the address. */
export function Choice({ label, options, value, to }) {
  return html`<div class="chips" role="group" aria-label=${label}>${options.map(([id, words, count]) => html`<${Link} class="chip" to=${to(id)} aria-current=${id === value ? 'true' : undefined}>${words}${count === undefined || count === null ? null : html` <b>${count}</b>`}<//>`)}</div>`
}

export function Facts({ rows }) {
  return html`<dl class="facts">${rows.filter(Boolean).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

/** The same rows as a table for a spreadsheet: a plain download, so that however many there are, none has to fit in the page. */
export const Csv = ({ href, name }) =>
  html`<a class="button" data-icon="download" href=${href} download=${name}>CSV</a>`
