import { Problem } from '../../src/base/problem.ts'
import type { RpcTransport } from '../../src/chain/transport.ts'
import type { Database } from '../../src/store/db.ts'

/** Counts outside effects and lets one of them fail: before it happens, or after it happened and before anybody hears of it. */
export type FaultLine = {
  /** Arms the n-th effect from now. */
  arm(n: number, moment: 'before' | 'after'): void
  disarm(): void
  /** Effects since the last `arm` or `disarm`. */
  count(): number
  hasStruck(): boolean
  wrapTransport(transport: RpcTransport): RpcTransport
  wrapDatabase(database: Database): Database
}

export function createFaultLine(): FaultLine {
  let passed = 0
  let armed: { readonly n: number; readonly moment: 'before' | 'after' } | null = null
  let struck = false

  async function effect<Result>(run: () => Promise<Result>, fault: () => Error): Promise<Result> {
    const number = ++passed
    const strikes = armed?.n === number ? armed.moment : null
    if (strikes) struck = true
    if (strikes === 'before') throw fault()
    const result = await run()
    if (strikes === 'after') throw fault()
    return result
  }

  const restart = () => {
    passed = 0
    struck = false
  }
  const storeGone = () => new Problem('store_unavailable', 'The connection to the store broke (injected).')
  return {
    arm(n, moment) {
      restart()
      armed = { n, moment }
    },
    disarm() {
      restart()
      armed = null
    },
    count: () => passed,
    hasStruck: () => struck,
    wrapTransport: (transport) => (request) =>
      effect(
        () => transport(request),
        () => new Error('the connection to the chain broke (injected)'),
      ),
    wrapDatabase: (database) => ({
      ...database,
      query: (sql, values) => effect(() => database.query(sql, values), storeGone),
      transaction: (work, options) => effect(() => database.transaction(work, options), storeGone),
    }),
  }
}
