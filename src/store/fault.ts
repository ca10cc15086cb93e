import pg from 'pg'
import { isProblem, Problem } from '../base/problem.ts'

export type StoreFaultCode =
  | 'data_dir_corrupt'
  | 'data_dir_unusable'
  | 'data_dir_network'
  | 'data_dir_version'
  | 'durability_missing'
  | 'database_url_invalid'
  | 'server_unsuitable'
  | 'migration_changed'
  | 'schema_newer'
  | 'migration_pending'
  | 'other_mode'

/** Why the store does not start. The operator reads the message, so it names the folder or server and says what to do. */
export class StoreFault extends Error {
  readonly code: StoreFaultCode
  constructor(code: StoreFaultCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'StoreFault'
    this.code = code
  }
}

/** A row with this key exists. `constraint` narrows it to one unique index. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  return hasCode(error, '23505') && isConstraint(error, constraint)
}

/** A row refers to one that is not there. */
export function isForeignKeyViolation(error: unknown, constraint?: string): boolean {
  return hasCode(error, '23503') && isConstraint(error, constraint)
}

/** A row broke a `check` rule, such as a quantity below zero. */
export function isCheckViolation(error: unknown, constraint?: string): boolean {
  return hasCode(error, '23514') && isConstraint(error, constraint)
}

function isConstraint(error: unknown, constraint: string | undefined): boolean {
  return constraint === undefined || (error as pg.DatabaseError).constraint === constraint
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof pg.DatabaseError && error.code === code
}

/** Another transaction got in the way, and nothing of this one is left. */
export function isConflict(error: unknown): boolean {
  const code = codeOf(isProblem(error) ? error.cause : error)
  return code === '40001' || code === '40P01'
}

/** Running the whole transaction again may succeed: a conflict with another one, or a connection that went away. */
export function isTransient(error: unknown): boolean {
  return isConflict(error) || isConnectionLost(error)
}

// 25006 is a write on a standby: after a failover this connection leads to the old primary, and a new one will not.
const LOST_CODES = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25006', '25P03'])
const LOST_SYSTEM_CODES = /^E(CONN\w+|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN|NOENT|ACCES)$/
// The driver reports these without a code; test/store/postgres.test.ts holds them to the pinned version.
const SILENT_MESSAGES = /^(Query read timeout|Connection terminated due to connection timeout)/
const LOST_MESSAGES = /^(Connection terminated|Client (has encountered a connection error|was closed)|timeout exceeded)/

/** Nothing came back, not even a refusal: packets get lost on the way, and the other connections may have met the same fate. */
export function isSilent(error: unknown): boolean {
  return error instanceof Error && SILENT_MESSAGES.test(error.message)
}

/** The connection is of no further use, whoever closed it. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (isSilent(error)) return true
  const code = codeOf(error)
  if (code === undefined) return LOST_MESSAGES.test(error.message)
  return LOST_CODES.has(code) || code.startsWith('08') || LOST_SYSTEM_CODES.test(code)
}

/**
 * The error as it leaves the store. Trouble that a client can wait out becomes a problem of the table; a broken constraint or
 * a wrong statement stays what it is, for the caller to recognise.
 */
export function asStoreProblem(error: unknown): unknown {
  const code = codeOf(error)
  if (isProblem(error) || error instanceof StoreFault) return error
  if (code === '53100' || code === 'ENOSPC') {
    return new Problem('store_full', 'The disk of the store is full; nothing was written.', { cause: error })
  }
  if (isTransient(error)) {
    return new Problem('store_unavailable', 'The store cannot be reached or is too busy.', { cause: error })
  }
  // 53: out of memory or another resource. 57014: the statement ran into its time limit. 58: trouble of the server's disk.
  if (code?.startsWith('53') || code === '57014' || code?.startsWith('58')) {
    return new Problem('store_unavailable', 'The store could not finish the work in time.', { cause: error })
  }
  return error
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : undefined
}
