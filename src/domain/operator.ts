/** What a person may do in the shop: each may all that the ones before it may. */
export const roles = ['viewer', 'support', 'admin'] as const
export type Role = (typeof roles)[number]

/** Who is at the operator's routes: a person at the console, or whoever holds a token. */
export type Operator = {
  readonly id: string
  readonly name: string
  readonly role: Role
  readonly via: 'console' | 'token' | 'sandbox'
  /** Where the call came from, as allowances count it. */
  readonly address: string
}

/** May this role do what needs that one? Null: somebody without any. */
export function mayAct(role: Role | null, needed: Role): boolean {
  return role !== null && roles.indexOf(role) >= roles.indexOf(needed)
}

/** Where a link leads. Its token is in the fragment, so that no proxy and no log sees it. */
export function enterUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/operator/enter#${token}`
}

/** The name of the shop's own token, `SUTLER_OPERATOR_TOKEN`. It lets the first admin in; its role is the configuration's (`tokenRole`). */
export const FIRST_ADMIN = { id: 'opr_token', name: 'operator', role: 'admin' } as const
