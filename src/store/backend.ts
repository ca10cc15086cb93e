import type pg from 'pg'

export type EngineName = 'embedded' | 'postgres'

/** What an engine hands over: a pool of `pg`, and what only it can know. */
export type Backend = {
  readonly engine: EngineName
  readonly description: string
  readonly pool: pg.Pool
  /** When the files of the store were made: those of a copy are younger. Empty where that is the server's own business, or cannot be told. */
  readonly filesBornAt: string
  /** How many addresses there are to be tried. */
  readonly hosts: number
  /** False: the next statement may come to another session of the server, which knows nothing of what was prepared or set before. */
  readonly keepsSessions: boolean
  ensureRoom(): void
  freeBytes(): number | null
  close(): Promise<void>
}
