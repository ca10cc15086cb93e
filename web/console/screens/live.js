// The tail of events. New ones wait while somebody reads: by button, by selection, or by scrolling away.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { useData } from '../data.js'
import { recall, state, tail } from '../live.js'
import { copy, Empty, Failed, Head, html, Id, Link, Money } from '../parts.js'
import { go, route, withQuery } from '../shop.js'
import { eventTitle, eventWords, number, short, timeOf, utcOf } from '../words.js'

const SHOWN_MAX = 200
const KINDS = [
  ['', 'All'],
  ['order', 'Orders'],
  ['payment', 'Payments'],
  ['refund', 'Refunds'],
  ['operator', 'People'],
  ['trouble', 'Trouble'],
]
const isOf = (kind, type) => {
  if (kind === '') return true
  if (kind === 'order') return /^(order|craft)\./.test(type)
  if (kind === 'trouble') return /^(wallet|node|game|rail|surface|attention)\.|failed|held/.test(type)
  return type.startsWith(`${kind}.`)
}

/** What an event is about, where that has a page. */
export function addressOf(subject, type) {
  if (/^(ord|act)_/.test(subject)) return `/operator/orders/${subject}`
  if (type === 'payment.held' || /^trf_/.test(subject)) return `/operator/transfers/${subject}`
  return null
}

export default function Live() {
  const { searchParams: params } = route.value
  const kind = params.get('kind') ?? ''
  const about = params.get('subject') ?? ''
  const [isPaused, setPaused] = useState(false)
  const [frozen, setFrozen] = useState([])
  const [chosen, setChosen] = useState(null)
  const past = useData('/events?last=200')
  const fallback = useData(past.fault ? '/events?limit=1000' : null)
  const isAway = useRef(false)
  useEffect(() => {
    const { events } = past.data ?? fallback.data ?? {}
    if (events) recall(events)
  }, [past.data, fallback.data])
  const pause = (now) => {
    if (now) setFrozen(tail.peek())
    setPaused(now)
  }
  useLayoutEffect(() => {
    const keys = (event) => {
      if (event.detail.key !== ' ') return
      event.preventDefault()
      pause(!isPaused)
    }
    const scrolled = () => {
      const isNow = scrollY > 240
      if (isNow !== isAway.current) {
        isAway.current = isNow
        pause(isNow)
      }
    }
    const main = document.getElementById('main')
    main.addEventListener('rowkey', keys)
    addEventListener('scroll', scrolled, { passive: true })
    return () => {
      main.removeEventListener('rowkey', keys)
      removeEventListener('scroll', scrolled)
    }
  }, [isPaused])
  const isWanted = ({ type, subject }) => isOf(kind, type) && (about === '' || subject === about)
  const shown = (isPaused ? frozen : tail.value).filter(isWanted).slice(0, SHOWN_MAX)
  const newer = isPaused
    ? tail.value.filter((event) => isWanted(event) && Number(event.position) > Number(frozen[0]?.position ?? 0)).length
    : 0
  return html`<${Head} title="Live"><button type="button" data-icon=${isPaused ? 'play' : 'pause'} aria-pressed=${isPaused} onClick=${() => pause(!isPaused)}>${isPaused ? 'Go on' : 'Pause'}</button><//>
    <div class="chips" role="group" aria-label="Kind">${KINDS.map(([id, words]) => html`<${Link} class="chip" to=${withQuery({ kind: id || null })} aria-current=${id === kind ? 'true' : undefined}>${words}<//>`)}${about ? html`<${Link} class="chip on" to=${withQuery({ subject: null })} aria-label="Remove the filter ${about}">About ${short(about)} ✕<//>` : null}</div>
    <div role="status">${
      newer > 0
        ? html`<button type="button" class="fresh" onClick=${() => {
            isAway.current = false
            scrollTo(0, 0)
            pause(false)
          }}>${newer} new, show</button>`
        : null
    }</div>
    ${past.fault && fallback.fault ? html`<${Failed} fault=${past.fault} again=${past.again} />` : null}
    <div class=${chosen ? 'two' : ''}><section class="card" aria-label="Events">${
      shown.length === 0
        ? html`<${Empty} icon="pulse" title=${state.value === 'on' ? 'Listening' : 'Connecting'}>Events appear here as they happen${kind || about ? ', as far as they match' : ''}.<//>`
        : html`<div role="log" aria-label="Newest first" aria-live=${isPaused ? 'off' : 'polite'}><ul class="tail">${shown.map(
            (event) => {
              const { position, type, timestamp, subject, data } = event
              const [icon, tone] = eventWords(type)
              const to = addressOf(subject, type)
              return html`<li key=${position} class=${chosen?.position === position ? 'at' : ''}><time datetime=${timestamp} title=${utcOf(timestamp)}>${timeOf(timestamp)}</time><button type="button" class="row-button status ${tone}" data-icon=${icon} onClick=${() => {
                setChosen(event)
                pause(true)
              }}>${eventTitle(event)}</button>${to ? html`<${Id} of=${subject} to=${to} />` : html`<span class="id" title=${subject}>${short(String(subject))}</span>`}<span class="end">${data?.price?.amount ? html`<${Money} amount=${data.price.amount} currency=${data.price.currency} />` : null}</span></li>`
            },
          )}</ul></div>`
    }</section>
    ${
      chosen
        ? html`<section class="card beside" aria-label="Event"><header><h2>${eventWords(chosen.type)[2]}</h2><span class="acts"><button type="button" data-icon="copy" class="quiet" onClick=${() => copy(JSON.stringify(chosen, null, 2), 'The event is copied')}>Copy</button><button type="button" class="quiet icon" data-icon="x" aria-label="Close" onClick=${() => setChosen(null)}></button></span></header><p class="soft small"><code>${chosen.type}</code> at position ${number(chosen.position)}. <a href=${withQuery({ subject: chosen.subject })} onClick=${(
            event,
          ) => {
            event.preventDefault()
            go(withQuery({ subject: chosen.subject }))
          }}>Only this subject</a></p><pre tabindex="0" aria-label="The event as JSON">${JSON.stringify(chosen, null, 2)}</pre></section>`
        : null
    }</div>`
}
