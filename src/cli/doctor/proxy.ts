import { readSigningKey } from '../../base/jws.ts'
import type { Config } from '../../config/config.ts'
import { boundedFetch } from '../bounded-fetch.ts'
import { type Diagnosis, FoundTrouble, look, skipped } from './finding.ts'

const WHAT = 'proxy'

/**
 * Whether the shop knows of what stands in front of it. Told of too few proxies, it takes all callers for one; of too many, it believes what
 * callers say of themselves. Asked at the public address, because only on that way the proxies are.
 */
export async function checkProxy({ http, operatorToken, receipts }: Config): Promise<Diagnosis> {
  if (operatorToken === null)
    return skipped('shop', WHAT, 'Without an operator token the shop cannot be asked what reaches it.')
  // Before it is open, something else may answer at that address: it is not told the token.
  const published = await boundedFetch(`${http.baseUrl}/.well-known/jwks.json`).then(
    (answer) => answer.text(),
    () => '',
  )
  if (!published.includes(readSigningKey(receipts.key).jwk.x))
    return skipped('shop', WHAT, `${http.baseUrl} cannot be asked from here, or is not this shop.`)
  const headers = { authorization: `Bearer ${operatorToken.reveal()}` }
  const response = await boundedFetch(`${http.baseUrl}/operator/system`, { headers }).catch(() => null)
  if (!response?.ok) return skipped('shop', WHAT, `${http.baseUrl} cannot be asked from here.`)
  const fix = 'Set SUTLER_PROXY_HOPS to the number of proxies between the internet and the shop; 0 where there is none.'
  return look({ area: 'shop', what: WHAT, fix }, async () => {
    const { proxy } = (await response.json()) as { proxy: { hops: number; isForwarded: boolean } }
    const { hops, isForwarded } = proxy
    if (isForwarded && hops === 0)
      throw new FoundTrouble(
        'warn',
        'Calls arrive with X-Forwarded-For, and SUTLER_PROXY_HOPS is 0: all callers share one allowance, and five failed sign-ins of anybody lock everybody out.',
        fix,
      )
    if (!isForwarded && hops > 0)
      throw new FoundTrouble(
        'warn',
        `SUTLER_PROXY_HOPS is ${hops}, and calls arrive without X-Forwarded-For: whoever sends it chooses the address that is counted.`,
        fix,
      )
    return hops === 0 ? 'there is none' : `${hops} in front, as configured`
  })
}
