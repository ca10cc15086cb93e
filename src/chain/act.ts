import type { Abi } from 'viem'
import { encodeDeployData, encodeFunctionData } from 'viem/utils'
import type { Address } from '../base/address.ts'
import { type Hex, toHex } from '../base/hex.ts'
import { keccak256 } from '../base/keccak.ts'

/** One transaction that somebody is to send: a contract is made, or called. */
export type Act = { readonly to?: Address; readonly data: Hex }

export type Artifact = {
  readonly abi: Abi
  readonly bytecode: Hex
  readonly runtime: Hex
  /** Where the constructor fills words in, for each that it does: bytes from the beginning of the runtime code. */
  readonly immutables?: readonly (readonly number[])[]
}

/** The code that makes a contract, with what its constructor is given. */
export function initCode({ abi, bytecode }: Pick<Artifact, 'abi' | 'bytecode'>, args: readonly unknown[]): Hex {
  return encodeDeployData({ abi, bytecode, args } as Parameters<typeof encodeDeployData>[0])
}

export function invocation(
  to: Address,
  abi: Abi,
  functionName: string,
  args: readonly unknown[],
): Act & { readonly to: Address } {
  return { to, data: encodeFunctionData({ abi, functionName, args } as Parameters<typeof encodeFunctionData>[0]) }
}

/** How contracts know a role; the admin's is no hash. */
export function roleId(name: string): Hex {
  return name === 'DEFAULT_ADMIN_ROLE' ? `0x${'0'.repeat(64)}` : toHex(keccak256(Buffer.from(name)))
}
