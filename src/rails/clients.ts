import type { RailName } from '../domain/rail.ts'
import type { RailClient } from './client.ts'
import { mppClient } from './mpp/client.ts'
import { x402Client } from './x402/client.ts'

/** The buyer's side of each rail. Apart from `rails.ts`: a shop has no use for clients, and they take long to load. */
export const clients: readonly RailClient[] = [x402Client, mppClient]

export function clientOf(rail: RailName): RailClient {
  const client = clients.find(({ name }) => name === rail)
  if (!client) throw new TypeError(`there is no client for ${rail}`)
  return client
}
