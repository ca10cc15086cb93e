import type { Route } from '../domain/route.ts'
import { preflightHeaders } from './http/cors.ts'
import { type HeaderList, headerList, type MethodHandlers } from './http/reply.ts'
import { compileFree, type FreeHandlerOptions } from './shop/free-handler.ts'
import { compilePaid, type PaidHandlerOptions } from './shop/paid-handler.ts'

// Whatever of a route does not change between requests is made here, when the service starts, and nothing of it is looked up later.

type CompileOptions = PaidHandlerOptions & FreeHandlerOptions

/** A row of the table, ready to answer: its resource, its headers and the rules for what it takes are inside its handlers. */
type Compiled = {
  readonly route: Route
  readonly handlers: MethodHandlers
}

function compile(route: Route, options: CompileOptions): Compiled {
  return { route, handlers: route.kind === 'paid' ? compilePaid(route, options) : compileFree(route, options) }
}

/** All rows of one path. */
export type RoutePlace = {
  readonly rows: readonly Compiled[]
  readonly methods: readonly string[]
  /** As an answer names them. */
  readonly allow: string
  readonly preflight: HeaderList
  readonly isRateLimited: boolean
}

export function compilePlaces(routes: readonly Route[], options: CompileOptions): ReadonlyMap<string, RoutePlace> {
  const paths = Map.groupBy(routes, ({ path }) => path)
  return new Map([...paths].map(([path, onPath]) => [path, placeOf(onPath.map((route) => compile(route, options)))]))
}

function placeOf(rows: readonly Compiled[]): RoutePlace {
  // HEAD is not among them where a GET is sold: nobody may look at goods by asking for less than all of them.
  const methods = [...new Set(rows.flatMap(({ handlers }) => [...handlers.keys()]))]
  return {
    rows,
    methods,
    allow: [...methods, 'OPTIONS'].join(', '),
    preflight: headerList(preflightHeaders(methods)),
    isRateLimited: rows.every(({ route }) => isLimited(route)),
  }
}

function isLimited(route: Route): boolean {
  return route.kind === 'paid' ? route.isRateLimited : route.bucket !== null
}
