// What the console knows of the shop and how it speaks with it: where we are, who we are, asking and telling.
import { signal } from '@preact/signals'

/** Where we are. The address is the state: whatever is shown can be sent to a colleague. */
export const route = signal(new URL(location.href))

/** @param {string} to @param {{ replace?: boolean }} [how] */
export function go(to, { replace = false } = {}) {
  const target = new URL(to, location.href)
  if (target.href === location.href) return
  history[replace ? 'replaceState' : 'pushState'](null, '', target)
  const isElsewhere = target.pathname !== route.value.pathname
  route.value = target
  if (isElsewhere) scrollTo(0, 0)
}
addEventListener('popstate', () => {
  route.value = new URL(location.href)
})

/** The same address with other members of its query; an empty one goes. @param {Record<string, string | null | undefined>} changes */
export function withQuery(changes) {
  const url = new URL(route.value)
  for (const [name, value] of Object.entries(changes))
    if (value) url.searchParams.set(name, value)
    else url.searchParams.delete(name)
  return url.pathname + url.search
}

/** Something the shop said no to, or that did not reach it. */
export class Fault extends Error {
  /** @param {{ status: number, code: string, detail: string, errors?: { pointer: string, detail: string }[], body?: any }} told */
  constructor({ status, code, detail, errors = [], body = null }) {
    super(detail)
    this.status = status
    this.code = code
    this.errors = errors
    this.body = body
  }
}

/** Who is signed in, and what they may do; null until that is known. @type {import('@preact/signals').Signal<any>} */
export const me = signal(null)
/** Is somebody to sign in (again) before we can go on? */
export const isSessionOver = signal(false)
/** What asks for another sign-in though the session goes on; null: the session is over. @type {import('@preact/signals').Signal<string | null>} */
export const signInFor = signal(null)
/** Does the network reach the shop? */
export const isOffline = signal(!navigator.onLine)
/** How often it was lost. What was asked before the last time says nothing about now, however late its answer comes. */
let losses = 0
function lost() {
  losses++
  isOffline.value = true
}
/** For a question that is asked now: what to do when it is answered. @returns {() => void} */
export function asking() {
  const before = losses
  return () => {
    if (before === losses) isOffline.value = false
  }
}
addEventListener('online', () => {
  isOffline.value = false
})
addEventListener('offline', () => {
  lost()
  // A shop on this very machine is there without any network.
  request('/health/live').catch(() => {})
})

/** Requests that wait for somebody to sign in. @type {((isIn: boolean) => void)[]} */
let waiting = []

/** @param {boolean} [isIn] false: they would rather not do it */
export function signedIn(isIn = true) {
  isSessionOver.value = false
  const all = waiting
  waiting = []
  for (const goOn of all) goOn(isIn)
}

const isEnter = () => route.value.pathname === '/operator/enter'

/** @param {string} path @param {RequestInit} [init] @returns {Promise<any>} */
export async function request(path, init = {}) {
  const answered = asking()
  let answer
  try {
    answer = await fetch(path, { ...init, headers: { accept: 'application/json', ...init.headers } })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    lost()
    throw new Fault({
      status: 0,
      code: 'unreachable',
      detail:
        init.method && init.method !== 'GET'
          ? 'The shop could not be reached. Whether it heard this is not known; look before you do it again.'
          : 'The shop could not be reached.',
    })
  }
  answered()
  if (answer.status === 401 && !isEnter()) {
    const operator = me.value?.operator.id
    const refusal = await answer.json().catch(() => null)
    signInFor.value = refusal?.code === 'sign_in_again' ? refusal.detail : null
    isSessionOver.value = true
    const isIn = await new Promise((resolve) => waiting.push(resolve))
    if (!isIn) throw new Fault({ status: 401, code: 'sign_in_again', detail: 'Nothing was done.' })
    const isDeed = init.method !== undefined && init.method !== 'GET'
    if (isDeed && operator !== undefined && me.value?.operator.id !== operator)
      throw new Fault({
        status: 401,
        code: 'somebody_else',
        detail: 'Somebody else has signed in, so this was not done in their name. Look at it, then do it again.',
      })
    return request(path, init)
  }
  const text = await answer.text()
  let body = null
  try {
    body = text === '' ? null : JSON.parse(text)
  } catch {
    // A proxy in between may answer with a page of its own.
  }
  if (!answer.ok || body === null)
    throw new Fault({
      status: answer.status,
      code: body?.code ?? 'unexpected',
      detail: body?.detail ?? body?.title ?? `The shop answered ${answer.status} and gave no reason.`,
      errors: body?.errors ?? [],
      body,
    })
  return body
}

/** @param {string} path @param {AbortSignal} [signal] @param {boolean} [isOwn] the page asks by itself, without anybody at it */
export const ask = (path, signal, isOwn = false) =>
  request(path, { ...(signal ? { signal } : {}), ...(isOwn ? { headers: { 'x-sutler': 'background' } } : {}) })

/**
 * Changes something. The headers are what no form and no link of another site can send.
 * @param {'POST' | 'PATCH' | 'DELETE'} method @param {string} path @param {object} [body] @param {Record<string, string>} [headers]
 */
export function tell(method, path, body = {}, headers = {}) {
  return request(path, {
    method,
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json', 'x-sutler': 'console', ...headers },
  })
}

/** A name for one deed, made when its dialog opens: pressed twice, it is done once. */
export function deedKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

const RANKS = { viewer: 0, support: 1, admin: 2 }

/** Why not, in words; null when they may. @param {'viewer' | 'support' | 'admin'} role */
export function refusalFor(role) {
  const own = me.value?.operator?.role
  if (!own) return 'Sign in first.'
  if (RANKS[own] >= RANKS[role]) return null
  return `Only ${role === 'admin' ? 'an admin' : 'support or an admin'} may do this; you are ${own}.`
}
