import assert from 'node:assert/strict'
import type { JsonObject } from '../../src/base/json.ts'
import { asOperator } from '../operations/desk.ts'
import { post } from '../support/buyers.ts'
import type { TestShop } from '../support/shop.ts'

type Shop = Pick<TestShop, 'url' | 'config' | 'store'>

export type Told = JsonObject & {
  readonly detail?: string
  readonly errors?: readonly { readonly pointer: string; readonly detail: string }[]
}

/** What an operator's route answers, with its status. */
export async function desk(shop: Shop, path: string, body?: JsonObject): Promise<{ status: number; told: Told }> {
  const response = await asOperator(shop, path, body === undefined ? {} : post(body))
  return { status: response.status, told: (await response.json()) as Told }
}

/** The same where it must work. */
export async function done(shop: Shop, path: string, body?: JsonObject): Promise<Told> {
  const { status, told } = await desk(shop, path, body)
  assert.ok(status < 300, `${path}: ${JSON.stringify(told)}`)
  return told
}

export type DeedRow = {
  readonly deed: string
  readonly by: string
  readonly callId: string
  readonly about: { readonly kind: string; readonly id: string }
  readonly before: JsonObject | null
  readonly after: JsonObject | null
}

/** What was written down of deeds about one thing, in order. */
export async function deedsAbout({ store }: Pick<TestShop, 'store'>, id: string): Promise<readonly DeedRow[]> {
  const { rows } = await store.db.query<{ data: DeedRow }>(
    `select data from events where type = 'operator.acted' and data -> 'about' ->> 'id' = $1 order by id`,
    [id],
  )
  return rows.map(({ data }) => data)
}
