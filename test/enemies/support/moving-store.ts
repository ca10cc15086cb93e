import { isProblem } from '../../../src/base/problem.ts'
import type { Service } from '../../../src/service/service.ts'
import type { Database } from '../../../src/store/db.ts'

/** What a server is that is replaced under the same address. */
export function replaceable(first: Database) {
  let current = first
  const database = new Proxy(first, {
    get(_first, name) {
      const member: unknown = Reflect.get(current, name)
      return typeof member === 'function' ? member.bind(current) : member
    },
  })
  return {
    database,
    replaceBy(other: Database) {
      current = other
    },
  }
}

/** Does it sell, as far as its store is concerned? */
export function isOpen({ checkout }: Service): boolean {
  try {
    checkout.ensureRoom()
    return true
  } catch (error) {
    if (isProblem(error)) return false
    throw error
  }
}
