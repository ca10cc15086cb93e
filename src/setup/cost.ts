import type { Hex } from '../base/hex.ts'
import { RpcError } from '../chain/rpc.ts'
import { SetupFault } from './fault.ts'
import type { Step } from './step.ts'
import type { Crew } from './step-runner.ts'

/** A call of a contract that is not there yet cannot be estimated; a role costs about 50,000. */
const GAS_OF_CALL = 80_000n

/** Half a deployment helps nobody: whoever cannot pay for all of it is told before the first transaction. */
export async function assertAffordable({ rpc, fees, wallet }: Crew, steps: readonly Step[]): Promise<void> {
  const { address: from } = wallet
  let gas = 0n
  for (const step of steps) if (!(await step.isDone(rpc).catch(() => false))) gas += await gasOf(step)
  const { maxFeePerGas } = await fees.current()
  const wei = BigInt(await rpc.request<Hex>('eth_getBalance', [from, 'latest']))
  const needed = gas * maxFeePerGas
  if (wei >= needed) return
  throw new SetupFault(
    'no_gas',
    `${from} has ${coin(wei)} on chain ${rpc.chainId}, and all of this may cost ${coin(needed)}; nothing was sent. ` +
      `Send ${coin(needed - wei)} or more to that address, then run the same line again`,
  )

  async function gasOf({ act: { to, data } }: Step): Promise<bigint> {
    try {
      const gas = BigInt(await rpc.request<Hex>('eth_estimateGas', [{ from, to, data }]))
      return gas + gas / 4n
    } catch (error) {
      if (error instanceof RpcError) return GAS_OF_CALL
      throw error
    }
  }
}

/** Wei as people count them, rounded up to a millionth. */
function coin(wei: bigint): string {
  const millionths = (wei + 999_999_999_999n) / 1_000_000_000_000n
  return `${millionths / 1_000_000n}.${String(millionths % 1_000_000n).padStart(6, '0')}`
}
