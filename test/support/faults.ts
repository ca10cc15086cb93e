import { Problem } from '../../src/base/problem.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import type { Database } from '../../src/store/db.ts'

/** One outside effect by its name, a method of the chain or a text of SQL, and which one of that name it is. */
export type Effect = { readonly name: string; readonly nth: number }

/** Names outside effects and lets one of them fail: before it happens, or after it happened and before anybody hears of it. */
export type FaultLine = {
  /** Arms an effect, counted from now. */
  arm(effect: Effect, moment: 'before' | 'after'): void
  disarm(): void
  /** Effects since the last `arm` or `disarm`, in their order. */
  seen(): readonly Effect[]
  hasStruck(): boolean
  wrapTransport(transport: RpcTransport): RpcTransport
  wrapDatabase(database: Database): Database
}

export function createFaultLine(): FaultLine {
  let seen: Effect[] = []
  let armed: (Effect & { readonly moment: 'before' | 'after' }) | null = null
  let struck = false

  async function effect<Result>(name: string, run: () => Promise<Result>, fault: () => Error): Promise<Result> {
    const nth = 1 + seen.filter((other) => other.name === name).length
    seen.push({ name, nth })
    const strikes = armed?.name === name && armed.nth === nth ? armed.moment : null
    if (strikes) struck = true
    if (strikes === 'before') throw fault()
    const result = await run()
    if (strikes === 'after') throw fault()
    return result
  }

  const restart = () => {
    seen = []
    struck = false
  }
  const storeGone = () => new Problem('store_unavailable', 'The connection to the store broke (injected).')
  return {
    arm(effect, moment) {
      restart()
      armed = { ...effect, moment }
    },
    disarm() {
      restart()
      armed = null
    },
    seen: () => seen,
    hasStruck: () => struck,
    wrapTransport: (transport) => (request) =>
      effect(
        request.method,
        () => transport(request),
        () => new Error('the connection to the chain broke (injected)'),
      ),
    wrapDatabase: (database) => ({
      ...database,
      query: (sql, values) =>
        effect(typeof sql === 'string' ? sql : sql.text, () => database.query(sql, values), storeGone),
      transaction: (work, options) => effect('transaction', () => database.transaction(work, options), storeGone),
    }),
  }
}
