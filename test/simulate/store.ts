import type { Database } from '../../src/store/db.ts'
import type { Chance } from './chance.ts'
import type { Mishap } from './gate.ts'
import type { Actor, Scheduler } from './scheduler.ts'
import type { StoreMemory } from './store-gate.ts'

/** The store of all universes of a process, one after the other: the real schema, driver and `Database`. */
export type SimStore = {
  /** For whoever stands outside: nobody is stopped or killed on this way, and it takes no time. */
  readonly db: Database
  /** Tables that are empty when a universe begins. */
  readonly bare: ReadonlySet<string>
  /** As it was founded. */
  reset(): Promise<void>
  /** A copy of everything, and everything as it was when that was made; an operator then says that it was restored, at this moment. */
  backUp(): Promise<void>
  restore(at: number): Promise<void>
  /** A replica's own way to it. */
  open(way: StoreWay): Database
  /** A process is dead, and what it had open ends. */
  hangUp(actor: Actor): Promise<void>
  close(): Promise<void>
}

export type StoreWay = {
  readonly sim: Scheduler
  readonly actor: Actor
  readonly wires: Chance
  mishap(actor: Actor, label: string): Mishap
  readonly memory: StoreMemory
}
