import type { LoadHookSync } from 'node:module'
import { type Cut, rewriting } from './rewriting.ts'

/**
 * Mends that can be taken out, to see that the simulator finds what they are for. Nothing in `src/` knows of this: the text of a file is
 * changed while it is loaded, and a cut that no longer fits fails loudly.
 */
export const mends: Readonly<Record<string, readonly Cut[]>> = {
  allowance: [
    {
      file: 'src/rails/mpp/settlement.ts',
      from: 'sameAddress(from, receipt.from) &&',
      to: '',
    },
  ],
  nothing: [
    { file: 'src/rails/mpp/settlement.ts', from: 'amount > 0n &&', to: '' },
    { file: 'src/rails/mpp/push.ts', from: 'if (arrived === 0n) {', to: 'if (arrived < 0n) {' },
    {
      file: 'src/rails/mpp/push.ts',
      from: 'if (paid.amount < BigInt(credential.request.amount) && arrived < REFUND_AT_LEAST)',
      to: 'if (arrived < 0n && REFUND_AT_LEAST < 0n)',
    },
  ],
  gap: [
    {
      file: 'src/rails/mpp/pull.ts',
      from: 'if (nonceGap !== 0n) throw unfit',
      to: 'if (nonceGap < 0n) throw unfit',
    },
  ],
  forgotten: [
    {
      file: 'src/checkout/replay.ts',
      from: 'throw (await lastLook(call)) ?? givenUp(end)',
      to: 'throw givenUp(end)',
    },
  ],
  'late delivery': [
    {
      file: 'src/surfaces/shop/game-client.ts',
      from: 'if (request.at !== undefined && clock.now() - request.at > LATE_MS_MAX) throw new GameSilent(new TooLate())',
      to: '',
    },
    { file: 'src/surfaces/shop/game-client.ts', from: 'timestamp: at }', to: 'timestamp: clock.now() }' },
  ],
  'late record': [
    {
      file: 'src/store/sends/journal.ts',
      from: `where not exists (\${CLOSED})
    and \${HELD}
  on conflict do nothing`,
      to: 'where $1::text is not null and $2::text is not null and $3::uuid is not null\n  on conflict do nothing',
    },
  ],
  'unwatched sends': [
    {
      file: 'src/outbox/watch.ts',
      from: 'export async function watchSends(options: WatchOptions): Promise<readonly MissingSend[]> {',
      to: 'export async function watchSends(options: WatchOptions): Promise<readonly MissingSend[]> {\n  if (options) return []',
    },
  ],
  // No holes that were mended, but bounds: is it seen when they are not kept?
  float: [
    {
      file: 'src/store/orders/opening.ts',
      from: '<= $11::numeric)',
      to: '<= $11::numeric + 1000000000000)',
    },
  ],
  promises: [
    {
      file: 'src/store/orders/opening.ts',
      from: 'or (exposures.open_orders < $9 and',
      to: 'or (exposures.open_orders < $9 + 100 and',
    },
    {
      file: 'src/store/orders/exposure.ts',
      from: 'if (open_orders >= openOrdersMax)',
      to: 'if (open_orders >= openOrdersMax + 100)',
    },
  ],
  'late receipt': [
    {
      file: 'src/rails/mpp/settlement.ts',
      from: `if (!receipt)
      return {
        kind: 'unknown',
        detail: 'The payment is on the chain; its receipt is not yet.',
        transaction,
        isSeen: true,
      }`,
      to: 'if (!receipt) continue',
    },
    // The memo is asked for again before anybody hears 402.
    {
      file: 'src/rails/mpp/payment-search.ts',
      from: "if (memo === null || sender === null || !isGenuine(push.terms, credential, 'then')) return null",
      to: 'if (memo !== undefined) return null',
    },
  ],
}

/** For `registerHooks`: files are loaded as they were before this mend. */
export function loadHookWithout(name: string): { readonly load: LoadHookSync } {
  const cuts = mends[name]
  if (!cuts) throw new TypeError(`no mend is called ${name}; there are ${Object.keys(mends).join(', ')}`)
  return rewriting(name, cuts)
}
