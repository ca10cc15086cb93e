import { privateKeyToAccount } from 'viem/accounts'
import type { Hex } from '../../src/base/hex.ts'
import type { Fate } from './chain.ts'
import { ourKeys } from './keys.ts'
import type { Scheduler } from './scheduler.ts'
import type { PoolFault } from './strikes.ts'
import type { SimWorld } from './world.ts'

type Waiting = {
  readonly from: Hex
  readonly nonce: Hex
  readonly maxFeePerGas?: Hex
  readonly maxPriorityFeePerGas?: Hex
}

/** What becomes of a transaction of ours between the node that took it and a block. */
export function fateOf(world: SimWorld, sim: Scheduler, { how, forMs }: PoolFault): Fate {
  const send = (raw: Hex) => world.native.ask({ method: 'eth_sendRawTransaction', params: [raw] })
  if (how === 'taken') return { isForgotten: false, after: (_raw, hash) => takePlaceOf(world, hash, send) }
  return {
    isForgotten: true,
    async after(raw) {
      const actor = sim.actor('another node')
      void sim
        .clockOf(actor)
        .sleep(forMs)
        // Its nonce may have been used meanwhile.
        .then(() => sim.work(() => send(raw).catch(() => {})))
    },
  }
}

/** Somebody who has the key as well: nothing to nobody, for more than the shop has bid. */
async function takePlaceOf({ native }: SimWorld, hash: unknown, send: (raw: Hex) => Promise<unknown>): Promise<void> {
  const waiting = (await native.ask({ method: 'eth_getTransactionByHash', params: [hash] })) as Waiting | null
  const key = waiting && ourKeys.get(waiting.from.toLowerCase())
  if (!key) return
  const account = privateKeyToAccount(key.reveal() as Hex)
  const twice = (fee: Hex | undefined) => 2n * BigInt(fee ?? '0x0')
  const raw = await account.signTransaction({
    type: 'eip1559',
    chainId: native.chainId,
    nonce: Number(waiting.nonce),
    to: account.address,
    gas: 21_000n,
    maxFeePerGas: twice(waiting.maxFeePerGas),
    maxPriorityFeePerGas: twice(waiting.maxPriorityFeePerGas),
  })
  await send(raw)
}
