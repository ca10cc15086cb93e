import * as z from 'zod'
import type { EventType } from './event.ts'

/** What somebody who runs the shop wants to be told of, when it begins and when it is over. */
export const troubleKinds = ['wallet', 'node', 'game', 'rail', 'surface', 'attention'] as const

export type TroubleKind = (typeof troubleKinds)[number]

/** One thing that is wrong now. The same words in `about` mean the same thing, whoever says them. */
export type Trouble = {
  readonly kind: TroubleKind
  /** Which wallet, node, rail, surface, order or transfer. */
  readonly about: string
  /** What is wrong, and what to do. */
  readonly detail: string
}

/** What its begin and its end are called. */
export const troubleEvents: Readonly<Record<TroubleKind, readonly [begin: EventType, end: EventType]>> = {
  wallet: ['wallet.low', 'wallet.refilled'],
  node: ['node.down', 'node.back'],
  game: ['game.down', 'game.back'],
  rail: ['rail.paused', 'rail.resumed'],
  surface: ['surface.paused', 'surface.resumed'],
  attention: ['attention.needed', 'attention.over'],
}

/** What these events tell. */
export const troubleSchema = z
  .object({
    troubleId: z.string().describe('The same for the begin and the end of one trouble'),
    kind: z.enum(troubleKinds),
    about: z.string().describe('Which wallet, node, protocol, family of goods, order or transfer'),
    detail: z.string().describe('What is wrong, and what to do'),
    since: z.iso.datetime(),
    until: z.iso.datetime().nullable().describe('Null while it lasts'),
  })
  .meta({ id: 'Trouble', description: 'Something that whoever runs the shop should know of' })
