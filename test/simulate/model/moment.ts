import { decimal, type Numeric } from './decimal.ts'
import { raised, Unsupported } from './raised.ts'
import type { Interval } from './value.ts'

// Times are microseconds since 1970 and the session is in UTC, as all our sessions are.

export const SECOND = 1_000_000
const DAY = 86_400 * SECOND

export function parseMoment(text: string): number {
  if (text === 'epoch') return 0
  if (/^-?infinity$/.test(text)) return text.startsWith('-') ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  const [, day, clock = '00:00:00', part = '', zone = 'Z'] =
    /^(\d{4,}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,6})\d*)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/.exec(text) ?? []
  if (day === undefined) throw raised('22007', `invalid input syntax for type timestamp with time zone: "${text}"`)
  const offset = /^[+-]\d\d$/.test(zone) ? `${zone}:00` : zone
  const ms = Date.parse(`${day}T${clock.length === 5 ? `${clock}:00` : clock}${offset}`)
  if (Number.isNaN(ms)) throw raised('22008', `date/time field value out of range: "${text}"`)
  return ms * 1000 + Number(part.padEnd(6, '0'))
}

const isoOf = (micros: number) => new Date(Math.floor(micros / 1000)).toISOString()
const restOf = (micros: number) => ((micros % SECOND) + SECOND) % SECOND

/** With as many digits of the second as it has. */
function printed(micros: number, between: string, zone: string): string {
  if (!Number.isFinite(micros)) return micros > 0 ? 'infinity' : '-infinity'
  const iso = isoOf(micros)
  const rest = restOf(micros)
  const part = rest === 0 ? '' : `.${String(rest).padStart(6, '0').replace(/0+$/, '')}`
  return `${iso.slice(0, 10)}${between}${iso.slice(11, 19)}${part}${zone}`
}

export const printMoment = (micros: number) => printed(micros, ' ', '+00')
export const printLocal = (micros: number) => printed(micros, ' ', '')
export const momentInJson = (micros: number) => printed(micros, 'T', '+00:00').replace(/^(-?infinity).*/, '$1')

/** The driver keeps milliseconds. */
export const momentToDate = (micros: number) => new Date(Math.floor(micros / 1000))

/** Interval without months: how long they are depends on where one begins. */
export function plusInterval(micros: number, { months, days, micros: rest }: Interval, sign: 1 | -1): number {
  if (months !== 0) throw new Unsupported('intervals of months')
  return micros + sign * (days * DAY + rest)
}

export function between(later: number, earlier: number): Interval {
  const micros = later - earlier
  const days = Math.trunc(micros / DAY)
  return { months: 0, days, micros: micros - days * DAY }
}

export const lengthOf = ({ months, days, micros }: Interval) => (months * 30 + days) * DAY + micros

export function timesInterval({ months, days, micros }: Interval, by: number): Interval {
  if (months !== 0 || (days !== 0 && !Number.isInteger(by))) throw new Unsupported('parts of days and months')
  return { months, days: days * by, micros: rint(micros * by) }
}

export const secondsInterval = (seconds: number): Interval => ({ months: 0, days: 0, micros: rint(seconds * SECOND) })

/** To the nearest, a half to the even one, as the server rounds what floats. */
export function rint(value: number): number {
  const floor = Math.floor(value)
  const rest = value - floor
  return rest < 0.5 || (rest === 0.5 && floor % 2 === 0) ? floor : floor + 1
}

const UNITS: Readonly<Record<string, number>> = {
  microsecond: 1,
  millisecond: 1000,
  second: SECOND,
  minute: 60 * SECOND,
  hour: 3600 * SECOND,
}

export function parseInterval(text: string): Interval {
  const [, count, unit] = /^\s*(-?\d+)\s*([a-z]+?)s?\s*$/.exec(text) ?? []
  if (count === undefined) throw new Unsupported('this interval', text)
  const [number, length] = [Number(count), UNITS[unit!]]
  if (unit === 'day') return { months: 0, days: number, micros: 0 }
  if (length === undefined) throw new Unsupported('this unit of time', text)
  return { months: 0, days: 0, micros: number * length }
}

export function truncated(unit: string, micros: number): number {
  const length = unit === 'day' ? DAY : UNITS[unit]
  if (length === undefined) throw new Unsupported('this unit of time', unit)
  return Math.floor(micros / length) * length
}

/** Seconds with six digits behind the point. */
export const epochOf = (micros: number): Numeric => decimal(BigInt(micros), 6)

const FORMATS: Readonly<Record<string, (micros: number) => string>> = {
  'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"': (micros) => isoOf(micros),
  'YYYY-MM-DD"T"HH24:MI:SS.US"Z"': (micros) =>
    `${isoOf(micros).slice(0, 20)}${String(restOf(micros)).padStart(6, '0')}Z`,
  'YYYY-MM-DD': (micros) => isoOf(micros).slice(0, 10),
}

export function formatOf(format: string): (micros: number) => string {
  const known = FORMATS[format]
  if (!known) throw new Unsupported('this format of a time', format)
  return known
}
