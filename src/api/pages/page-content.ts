import type { JsonObject } from '../../base/json.ts'
import type { Route } from '../../domain/route.ts'
import type { Facts } from '../facts/facts.ts'
import type { HttpRequest } from '../http/request.ts'

/** What a page is made of: the very answer that a machine gets, and what else is to be told around it. */
export type PageContent = {
  readonly facts: Facts
  readonly request: HttpRequest
  readonly rows: readonly Route[]
  readonly status: number
  readonly body: JsonObject
  readonly header: (name: string) => string | undefined
}
