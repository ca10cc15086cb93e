import { contractAt } from '../chain/contract.ts'
import { pausableAbi } from '../chain/tokens.ts'
import type { RailName } from '../domain/rail.ts'
import type { OpenRail } from './rails.ts'

/** Rails whose token its issuer has paused: nobody can pay, and nothing can go back. A token that cannot be paused never is. */
export async function pausedTokens(rails: readonly OpenRail[]): Promise<readonly RailName[]> {
  const selling = rails.filter(({ isSelling }) => isSelling)
  const asked = await Promise.all(
    selling.map(async ({ rail, chain }) => {
      const isPaused = await contractAt(chain.rpc, rail.asset, pausableAbi)
        .read('paused', [])
        .catch(() => false)
      return isPaused ? [rail.name] : []
    }),
  )
  return asked.flat()
}
