import { getContractAddress, parseEther } from 'viem/utils'
import type { Address } from '../base/address.ts'
import { fromHex, type Hex } from '../base/hex.ts'
import type { Secret } from '../base/secret.ts'
import type { Act } from '../chain/act.ts'
import { addressOfKey } from '../chain/secp256k1.ts'
import type { DevChain } from '../devchain/chain.ts'
import { signTransaction } from '../outbox/wallet.ts'

/**
 * The one account that builds the sandbox's world. Its transactions go one at a time, and each act of the foundation has its nonce for a
 * number: after a crash the acts that are done are known by the nonce the chain has reached.
 */
export type Deployer = {
  readonly address: Address
  /** Does what is left of a list of acts that starts at nonce 0. */
  found(acts: readonly Act[]): Promise<void>
  /** One more act, after the foundation. Returns its transaction's hash. */
  act(act: Act): Promise<Hex>
}

const GAS = 8_000_000n
const MAX_FEE_PER_GAS = 10_000_000_000n

export function createDeployer(chain: DevChain, secret: Secret): Deployer {
  const key = fromHex(secret.reveal() as Hex)
  const address = addressOfKey(key)
  let queue: Promise<unknown> = Promise.resolve()

  const nonceReached = async (): Promise<number> =>
    Number(await chain.request({ method: 'eth_getTransactionCount', params: [address, 'latest'] }))

  async function send({ to, data }: Act, nonce: number): Promise<Hex> {
    const transaction = {
      type: 'eip1559',
      chainId: chain.chainId,
      nonce,
      data,
      gas: GAS,
      maxFeePerGas: MAX_FEE_PER_GAS,
      maxPriorityFeePerGas: 0n,
    } as const
    const raw = signTransaction(to ? { ...transaction, to } : transaction, key)
    const receipt = (await chain.request({ method: 'eth_sendRawTransactionSync', params: [raw] })) as {
      status: Hex
      transactionHash: Hex
    }
    if (receipt.status !== '0x1') throw new Error(`the sandbox could not be built: act ${nonce} reverted`)
    return receipt.transactionHash
  }

  return {
    address,
    async found(acts) {
      await chain.request({
        method: 'dev_setBalance',
        params: [address, `0x${parseEther('1000').toString(16)}`],
      })
      for (let number = await nonceReached(); number < acts.length; number++) await send(acts[number]!, number)
    },
    act(act) {
      const sent = queue.then(async () => send(act, await nonceReached()))
      queue = sent.catch(() => {})
      return sent
    },
  }
}

/** Where the contract of an act comes to stand: known before it is done. */
export function addressOfAct(deployer: Address, number: number): Address {
  return getContractAddress({ from: deployer, nonce: BigInt(number) })
}
