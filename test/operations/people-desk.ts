import assert from 'node:assert/strict'
import type { Role } from '../../src/domain/operator.ts'
import { post } from '../support/buyers.ts'
import type { TestShop } from '../support/shop.ts'
import { asOperator } from './desk.ts'

type Place = Pick<TestShop, 'url' | 'config'>

/** What our own page sends with whatever it asks. */
export const PAGE = { 'sec-fetch-site': 'same-origin', 'x-sutler': 'console', 'content-type': 'application/json' }

/** Somebody at the console. */
export type Visitor = {
  readonly id: string
  readonly name: string
  readonly cookie: string
  /** A call as the page makes it. */
  call(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Response>
}

export type Added = {
  readonly id: string
  readonly name: string
  readonly link: { readonly url: string; readonly expiresAt: string }
  readonly token: { readonly token: string } | null
}

/** With the shop's own token. */
export async function addOperator(shop: Place, name: string, role: Role, token = false): Promise<Added> {
  const response = await asOperator(shop, '/operator/operators', post({ name, role, token }))
  assert.equal(response.status, 201, await response.clone().text())
  return (await response.json()) as Added
}

export function tokenIn({ link }: Pick<Added, 'link'>): string {
  return link.url.split('#')[1]!
}

/** What the page does with a link. */
export function enter(url: string, body: object, headers: Record<string, string> = PAGE): Promise<Response> {
  return fetch(`${url}/operator/session`, { method: 'POST', headers, body: JSON.stringify(body) })
}

export async function signIn(shop: Place, token: string): Promise<Visitor> {
  const response = await enter(shop.url, { token })
  assert.equal(response.status, 200, await response.clone().text())
  const { operator } = (await response.json()) as { operator: { id: string; name: string } }
  return visitor(shop.url, operator, response.headers.get('set-cookie')!.split(';')[0]!)
}

export function visitor(url: string, { id, name }: { id: string; name: string }, cookie: string): Visitor {
  return {
    id,
    name,
    cookie,
    call: (method, path, body, headers = {}) =>
      fetch(url + path, {
        method,
        headers: { ...PAGE, cookie, ...headers },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
  }
}

/** Somebody new, signed in. */
export async function joined(shop: Place, name: string, role: Role): Promise<Visitor> {
  return signIn(shop, tokenIn(await addOperator(shop, name, role)))
}

export type Entry = {
  readonly position: string
  readonly who: string
  readonly operatorId: string
  readonly role: Role
  readonly via: string
  readonly deed: string
  readonly about: { readonly kind: string; readonly id: string }
  readonly before: Record<string, unknown> | null
  readonly after: Record<string, unknown> | null
  readonly reason: string | null
  readonly hash: string
}

/** The newest first. */
export async function audit(shop: Place, query = ''): Promise<readonly Entry[]> {
  const response = await asOperator(shop, `/operator/audit?limit=500${query}`)
  return ((await response.json()) as { entries: Entry[] }).entries
}

export async function codeOf(response: Response): Promise<string> {
  return `${response.status} ${((await response.json()) as { code?: string }).code ?? ''}`.trim()
}
