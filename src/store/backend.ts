import type pg from 'pg'

export type EngineName = 'embedded' | 'postgres'

/** What an engine hands over: a pool of `pg`, and what only it can know. */
export type Backend = {
  readonly engine: EngineName
  readonly description: string
  readonly pool: pg.Pool
  /** How many addresses there are to be tried. */
  readonly hosts: number
  /** False: the next statement may come to another session of the server, which knows nothing of what was prepared or set before. */
  readonly keepsSessions: boolean
  ensureRoom(): void
  freeBytes(): number | null
  close(): Promise<void>
}
