import { type Address, checksumAddress, type Hash } from '../base/address.ts'
import { fromHex, type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'
import type { Act } from '../chain/act.ts'
import { readCode } from '../chain/code.ts'
import type { Rpc } from '../chain/rpc.ts'
import { SetupFault } from './fault.ts'

/**
 * Makes contracts by CREATE2 for whoever asks: salt and code go in, and where the contract comes to stand follows from both and from nothing
 * else. So a Safe can deploy by a plain call, an address is known before anything is sent, and doing it twice is refused by the chain.
 */
const FACTORY: Address = '0x4e59b44847b379578588920cA78FbF26c0B4956C'
const FACTORY_CODE_HASH = '0x2fa86add0aed31f33a762c9d88e807c475bd51d0f52bd0955754b2608f7e4989'

export function create2Address(code: Hex, salt: Hash): Address {
  const seed = Buffer.concat([Buffer.from([0xff]), fromHex(FACTORY), fromHex(salt), keccak256(fromHex(code))])
  return checksumAddress(toHex(keccak256(seed).subarray(12)))
}

export function factoryCall(code: Hex, salt: Hash): Act & { readonly to: Address } {
  return { to: FACTORY, data: `${salt}${code.slice(2)}` }
}

/** A factory of somebody else's could put anything at the address that we compute. */
export async function assertFactory(rpc: Rpc): Promise<void> {
  const code = await readCode(rpc, FACTORY)
  if (toHex(keccak256(fromHex(code))) === FACTORY_CODE_HASH) return
  throw new SetupFault(
    'no_factory',
    `chain ${rpc.chainId} has no CREATE2 factory at ${FACTORY}, by which the contracts are made; nothing was sent. ` +
      'It stands on Base, Base Sepolia and most other chains: check SUTLER_GAME_CHAIN_ID and SUTLER_GAME_RPC_URL, then run the same line again',
  )
}
