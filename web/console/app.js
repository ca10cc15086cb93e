// The console begins here: it takes over the frame that the page came with, and shows the screen of the address.
import { Component, render } from 'preact'
import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { Banner, Bar, Me, Over, Places, paused, startKeys, waiting } from './frame.js'
import { heard, startLive } from './live.js'
import { closeDialog } from './over.js'
import { Failed, Head, html } from './parts.js'
import { ask, isSessionOver, me, route } from './shop.js'

/** @type {Map<string, any>} */
const loaded = new Map()

/** Each screen is a file of its own, loaded when somebody goes there. */
function screenOf(pathname) {
  const [, , place = 'home', id] = pathname.split('/')
  return { file: place === 'orders' && id ? 'order' : place, id: id ? decodeURIComponent(id) : null }
}

function Screen() {
  const { pathname } = route.value
  const { file, id } = screenOf(pathname)
  const [, setTurn] = useState(0)
  const [fault, setFault] = useState(null)
  // A dialog about one order must not stand over another. Before the page is seen: afterwards somebody may have opened one of their own.
  useLayoutEffect(closeDialog, [pathname])
  useEffect(() => {
    setFault(null)
    if (loaded.has(file)) return
    import(`./screens/${file}.js`).then(
      (module) => {
        loaded.set(file, module.default)
        setTurn((turn) => turn + 1)
      },
      (error) => setFault(error),
    )
  }, [file])
  // Whoever cannot see that the page changed hears its heading. At once: later it would take the focus from where it was put meanwhile.
  useLayoutEffect(() => {
    document.querySelector('main').querySelector('h1')?.focus({ preventScroll: true })
  }, [pathname, loaded.has(file)])
  const Shown = loaded.get(file)
  if (Shown) return html`<${Guard} key=${pathname}><${Shown} id=${id} /><//>`
  const heading = document.querySelector(`#places a[href="/operator/${file}"]`)?.textContent ?? ''
  if (fault)
    return html`<${Head} title="Nothing is here" /><${Failed} fault=${{ status: 404, message: 'The console has no such place, or it could not be loaded.' }} again=${() => location.reload()} />`
  return html`<h1 tabindex="-1">${heading.replace(/\d+$/, '') || (file === 'home' ? 'Needs you' : 'Orders')}</h1><div class="skeleton" aria-hidden="true"></div>`
}

/** A mistake of ours on one screen must not take the others away. */
class Guard extends Component {
  state = { error: null }
  static getDerivedStateFromError(error) {
    return { error }
  }
  componentDidCatch(error) {
    reportError(error)
  }
  render() {
    if (!this.state.error) return this.props.children
    return html`<${Head} title="This screen stumbled" /><${Failed} fault=${{ status: 500, message: `The fault is in the console, not in the shop: ${this.state.error.message}` }} again=${() => this.setState({ error: null })} />`
  }
}

function mount(id, node) {
  const place = document.getElementById(id)
  place.textContent = ''
  render(node, place)
}

async function begin() {
  const isEnter = route.value.pathname === '/operator/enter'
  mount('over', html`<${Over} /><${Places} />`)
  mount('bar', html`<${Bar} />`)
  mount('banner', html`<${Banner} />`)
  mount('me', html`<${Me} />`)
  mount('main', html`<${Screen} />`)
  if (isEnter) return
  startKeys()
  me.value = await ask('/operator/me').catch(() => null)
  startLive()
  isSessionOver.subscribe((isOver) => {
    if (!isOver && route.value.pathname !== '/operator') count()
  })
  heard(({ type }) => {
    if (
      /^(attention|wallet|order\.failed|payment\.held|refund)|^poll$/.test(type) &&
      route.value.pathname !== '/operator'
    )
      count()
    if (/^(rail|operator)|^poll$/.test(type)) lookAtSales()
  })
}

/** What everybody should know, whichever screen they are on. */
async function lookAtSales() {
  try {
    paused.value = (await ask('/operator/sales')).pauses
  } catch {
    // The screens say what they cannot read; a banner about a banner helps nobody.
  }
}

async function count() {
  try {
    const { items } = await ask('/operator/attention')
    waiting.value = items.length
  } catch {
    waiting.value = null
  }
}

begin()
