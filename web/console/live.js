// One stream for all screens. It says that something changed; what it is now is asked for.
import { signal } from '@preact/signals'
import { asking, isSessionOver } from './shop.js'

/** `waiting`, `on` or `lost`. */
export const state = signal('waiting')
/** Ticks once a second while somebody looks. */
export const now = signal(Date.now())

const KEPT = 500
/** The newest first. @type {import('@preact/signals').Signal<any[]>} */
export const tail = signal([])

/** @type {Set<(event: any) => void>} */
const listeners = new Set()

/** Calls back for each event until the returned function is called. @param {(event: any) => void} listener */
export function heard(listener) {
  listeners.add(listener)
  return () => {
    listeners.delete(listener)
  }
}

const PAUSE_MS = 2_000
/** After so long without a stream, screens are asked again instead. */
const POLL_MS = 15_000
let last = null
let isRunning = false
let stop = new AbortController()

/**
 * Read with fetch and not with EventSource: that one hears only types it was told of, and cannot tell a session that is over from a shop
 * that is down. Closed while the tab is hidden, because a browser opens six connections to a host, and each tab would hold one of them.
 */
async function run() {
  if (isRunning) return
  isRunning = true
  let lostAt = 0
  while (!document.hidden && !isSessionOver.value) {
    stop = new AbortController()
    const answered = asking()
    try {
      const answer = await fetch(`/events${last === null ? '' : `?after=${last}`}`, {
        headers: { accept: 'text/event-stream', 'x-sutler': 'background' },
        signal: stop.signal,
      })
      if (answer.status === 401) break
      // A position that the log no longer has, or does not have yet: begin at its end.
      if (answer.status === 400) last = null
      if (!answer.ok || !answer.body) throw new Error(`events: ${answer.status}`)
      state.value = 'on'
      answered()
      lostAt = 0
      // What happened before it was open was told to nobody.
      tellAll({ type: 'poll', subject: null })
      await read(answer.body)
    } catch {
      // Told below: whether it ended or failed, it is to be opened again.
    }
    if (document.hidden) break
    if (lostAt === 0) lostAt = Date.now()
    state.value = 'lost'
    if (Date.now() - lostAt > POLL_MS * 2) tellAll({ type: 'poll', subject: null })
    await new Promise((resolve) => setTimeout(resolve, Date.now() - lostAt > POLL_MS * 2 ? POLL_MS : PAUSE_MS))
  }
  isRunning = false
  if (document.hidden) state.value = 'waiting'
}

async function read(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const parts = (text + value).split('\n\n')
    text = parts.pop()
    for (const part of parts) take(part)
  }
}

function take(part) {
  const data = part
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trim())
    .join('\n')
  if (data === '') return
  const event = JSON.parse(data)
  last = event.position
  tail.value = [event, ...tail.value].slice(0, KEPT)
  tellAll(event)
}

function tellAll(event) {
  for (const listener of [...listeners]) listener(event)
}

export function startLive() {
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) stop.abort()
    else {
      now.value = Date.now()
      run()
    }
  })
  isSessionOver.subscribe((isOver) => {
    if (!isOver) run()
  })
  setInterval(() => {
    if (!document.hidden) now.value = Date.now()
  }, 1000)
}

/** What there was before we came, for screens that show it. In whatever order it is told. @param {any[]} events */
export function recall(events) {
  const known = new Set(tail.value.map(({ position }) => position))
  const older = events.filter(({ position }) => !known.has(position))
  if (older.length === 0) return
  tail.value = [...tail.value, ...older].toSorted((a, b) => Number(b.position) - Number(a.position)).slice(0, KEPT)
}
