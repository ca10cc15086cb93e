import type { Address } from '../base/address.ts'
import { type Hex, toHex } from '../base/hex.ts'
import { type Rpc, RpcError } from './rpc.ts'

const MAGIC = '1626ba7e'
/** A wallet's check is a stranger's code: it gets no more than a settlement from such a wallet may cost in all. */
export const GAS_OF_CONTRACT = 400_000n

/** Does a contract wallet call this signature its own (ERC-1271)? A plain address never does. */
export async function isValidContractSignature(
  rpc: Rpc,
  wallet: Address,
  digest: Uint8Array,
  signature: Hex,
): Promise<boolean> {
  const bytes = signature.slice(2)
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0')
  const word = (value: number) => value.toString(16).padStart(64, '0')
  const data = `0x${MAGIC}${toHex(digest).slice(2)}${word(64)}${word(bytes.length / 2)}${padded}`
  const gas = `0x${GAS_OF_CONTRACT.toString(16)}`
  try {
    const answer = await rpc.request<Hex>('eth_call', [{ to: wallet, data, gas }, 'latest'])
    return answer.length >= 66 && answer.slice(2, 10) === MAGIC
  } catch (error) {
    if (error instanceof RpcError) return false
    throw error
  }
}
