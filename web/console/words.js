// How things are written: amounts, times, names of statuses. Nothing here decides anything; the shop has done that.

/** Statuses by shape, word and colour, in that order. */
export const STATUSES = {
  settling: ['moving', 'go', 'Settling'],
  settled: ['moving', 'go', 'Paid'],
  submitted: ['moving', 'go', 'Delivering'],
  confirmed: ['ok', 'ok', 'Delivered'],
  failed: ['bad', 'bad', 'Failed'],
  refunding: ['back', 'back', 'Refunding'],
  refunded: ['back', 'back', 'Refunded'],
  expired: ['off', 'off', 'Expired'],
  in_doubt: ['doubt', 'warn', 'In doubt'],
  // Money that came without a purchase.
  unmatched: ['moving', 'go', 'Unmatched'],
  held: ['doubt', 'warn', 'Held for review'],
  returned: ['back', 'back', 'Returned'],
  kept: ['ok', 'ok', 'Kept'],
  matched: ['ok', 'ok', 'Matched'],
  // Deliveries of webhooks, endpoints, checks.
  pending: ['moving', 'go', 'Pending'],
  delivered: ['ok', 'ok', 'Delivered'],
  dead: ['bad', 'bad', 'Given up'],
  enabled: ['ok', 'ok', 'On'],
  active: ['ok', 'ok', 'On'],
  disabled: ['off', 'off', 'Off'],
  revoked: ['off', 'off', 'Revoked'],
  ok: ['ok', 'ok', 'OK'],
  warn: ['warn', 'warn', 'Look'],
  fail: ['bad', 'bad', 'Failing'],
  open: ['ok', 'ok', 'On sale'],
  hidden: ['off', 'off', 'Hidden'],
  paused: ['warn', 'warn', 'Paused'],
  upcoming: ['off', 'off', 'Not yet'],
  ended: ['off', 'off', 'Over'],
  closed: ['off', 'off', 'Over'],
  sold_out: ['warn', 'warn', 'Sold out'],
}

/** Types of events, as short as a row has room for. */
const EVENTS = {
  'order.created': ['moving', 'go', 'Order opened'],
  'order.submitted': ['moving', 'go', 'Delivering'],
  'order.confirmed': ['ok', 'ok', 'Delivered'],
  'order.failed': ['bad', 'bad', 'Failed'],
  'order.expired': ['off', 'off', 'Expired'],
  'payment.settled': ['money', 'go', 'Paid'],
  'payment.held': ['transfer', 'warn', 'Money without an order'],
  'refund.created': ['back', 'back', 'Refund begun'],
  'refund.completed': ['back', 'back', 'Refunded'],
  'report.recorded': ['receipt', 'off', 'Report recorded'],
  'operator.acted': ['person', 'off', 'Operator acted'],
  'wallet.low': ['warn', 'warn', 'Wallet low'],
  'attention.needed': ['warn', 'warn', 'Needs somebody'],
  'attention.over': ['ok', 'ok', 'No longer waits'],
}

/** @param {string} type */
export function eventWords(type) {
  const known = EVENTS[type.replace(/^craft\.action\./, 'order.')]
  if (known) return type.startsWith('craft.') ? [known[0], known[1], known[2].replace('Order', 'Craft')] : known
  const isDown = /\.(down|paused|low)$/.test(type)
  const isUp = /\.(back|resumed|refilled)$/.test(type)
  const text = type.replaceAll(/[._]/g, ' ')
  return [
    isDown ? 'warn' : isUp ? 'ok' : 'spark',
    isDown ? 'warn' : isUp ? 'ok' : 'off',
    text[0].toUpperCase() + text.slice(1),
  ]
}

/** In a row of the tail: of a deed, who did what. @param {{ type: string, data?: any }} event */
export function eventTitle({ type, data }) {
  return type === 'operator.acted' && data?.deed ? `${data.by}: ${plain(data.deed)}` : eventWords(type)[2]
}

/** Long names by their two ends; the middle says nothing to a person. @param {string} text */
export function short(text) {
  return text.length <= 18 ? text : `${text.slice(0, text.startsWith('0x') ? 6 : 10)}…${text.slice(-4)}`
}

const grouped = new Intl.NumberFormat('en', { maximumFractionDigits: 20 })
/** @param {number | string} count */
export const number = (count) => grouped.format(Number(count))

/** As text it stays exact; only the thousands are set apart. @param {string | number} amount */
export function sum(amount) {
  const [, sign = '', whole = '0', rest = ''] = /^(-?)(\d+)(\.\d+)?$/.exec(String(amount)) ?? []
  if (!/^-?\d/.test(String(amount))) return String(amount)
  return sign + whole.replaceAll(/\B(?=(\d{3})+$)/g, ',') + rest
}

/** For a figure that is looked at from afar: cents are enough above a dollar. @param {string | number} amount */
export function rounded(amount) {
  return sum(Math.abs(Number(amount)) >= 1 ? Number(amount).toFixed(2) : amount)
}

/** @param {number} ms */
export function span(ms) {
  const seconds = Math.abs(ms) / 1000
  if (seconds < 1) return `${Math.round(ms)} ms`
  if (seconds < 60) return `${seconds < 10 ? (Math.round(seconds * 10) / 10).toString() : Math.round(seconds)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86400) {
    const minutes = Math.floor((seconds % 3600) / 60)
    return `${Math.floor(seconds / 3600)} h${minutes ? ` ${minutes} min` : ''}`
  }
  return `${Math.floor(seconds / 86400)} d`
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hour12: false,
})
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const dayAndYear = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
const hour = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hour12: false })

/** The reader's own time; today's without a date. @param {string | number} at @param {{ exact?: boolean }} [how] */
export function timeOf(at, { exact = false } = {}) {
  const date = new Date(at)
  const text = clock.format(date) + (exact ? `.${String(date.getMilliseconds()).padStart(3, '0')}` : '')
  if (date.toDateString() === new Date().toDateString()) return text
  const isThisYear = date.getFullYear() === new Date().getFullYear()
  return `${(isThisYear ? day : dayAndYear).format(date)}, ${exact ? text : hour.format(date)}`
}

/** @param {string | number} at */
export const utcOf = (at) => `${new Date(at).toISOString().replace('T', ' ').replace('Z', '')} UTC`
export const dayOf = (at) => day.format(new Date(at))
export const hourOf = (at) => hour.format(new Date(at))

/** The protocols of this shop and how people write them, as the page says. @type {{ name: string, label: string }[]} */
export const rails = JSON.parse(document.body.dataset.rails ?? '[]')
/** @param {string} name */
export const railName = (name) => rails.find((rail) => rail.name === name)?.label ?? name

/** `health_probe`, `saleLot` → `Health probe`, `Sale lot`. @param {string} name */
export function plain(name) {
  const text = name.replaceAll(/[_.]/g, ' ').replaceAll(/([a-z])([A-Z])/g, (_, a, b) => `${a} ${b.toLowerCase()}`)
  return text.charAt(0).toUpperCase() + text.slice(1)
}
