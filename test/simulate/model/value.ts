/** A number with digits behind the point. Those without are plain `bigint`, which nearly all are. */
export type Decimal = { readonly digits: bigint; readonly scale: number }
export type Interval = { readonly months: number; readonly days: number; readonly micros: number }
/** A document of type `jsonb`, with its keys in the server's order. The wrapping tells its `null` from SQL's. */
export type Json = { readonly json: unknown }

/**
 * What a column may hold; which of these it is, its kind says. `int4` and `float8` are numbers, `int8` a bigint, `timestamptz` microseconds
 * since 1970, `json` its text.
 */
export type Value =
  | null
  | boolean
  | number
  | bigint
  | string
  | Decimal
  | Interval
  | Json
  | Uint8Array
  | readonly Value[]

export type Row = readonly Value[]

/** Equal values of one kind have equal keys. */
export type Key = string | number | bigint | boolean
