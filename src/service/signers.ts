import type { Address } from '../base/address.ts'
import { Secret } from '../base/secret.ts'
import type { HeadSource } from '../chain/head.ts'
import type { Rpc } from '../chain/rpc.ts'
import type { ChainConfig, Config } from '../config/config.ts'
import type { KeyCount, KnownKey } from '../domain/journal.ts'
import type { ChainAccess } from '../outbox/access.ts'
import type { Sender } from '../outbox/sender.ts'
import type { RailAccount } from '../rails/kind.ts'
import type { Database } from '../store/db.ts'
import { knownKeys, recordKeys } from '../store/sends/keys.ts'
import type { Surface, SurfaceKey } from '../surfaces/surface.ts'

/** A key of ours on one chain, by what it is for. */
export type RoleSigner = {
  readonly role: string
  readonly sender: Sender
  readonly rpc: Rpc
  readonly head: HeadSource
  /** Tempo has no coin of its own: fees are paid in the token. And a treasury that only signs pays none. */
  readonly paysGasInCoin: boolean
  /** Somebody else holds the key and signs with it. */
  readonly isRemote: boolean
}

/** All keys that a shop signs with: those of its rails, then those of its surfaces. */
export function chainKeys(
  accounts: readonly RailAccount[],
  surfaces: readonly Surface[],
  config: Config,
): readonly SurfaceKey[] {
  const ofRails = accounts.flatMap(({ chain, otherKeys, treasuryKey, treasurySends }) => [
    ...otherKeys.map(({ role, key }) => ({ role, chain, key })),
    { role: 'treasury', chain, key: treasuryKey, isSentByAnother: !treasurySends },
  ])
  return [...ofRails, ...surfaces.flatMap((surface) => surface.keys?.(config) ?? [])]
}

export function createSigners(
  keys: readonly SurfaceKey[],
  chainOf: (chain: ChainConfig) => ChainAccess,
): readonly RoleSigner[] {
  return keys.map(({ role, chain, key, isSentByAnother = false }) => {
    const { rpc, head, sender } = chainOf(chain)
    const isRemote = !(key instanceof Secret)
    return { role, sender: sender(key), rpc, head, paysGasInCoin: chain.paysGasInCoin && !isSentByAnother, isRemote }
  })
}

/** Before they sign anything: what a key of ours has done stays ours when it is replaced. */
export async function recordedSigners(
  database: Database,
  keys: readonly SurfaceKey[],
  chainOf: (chain: ChainConfig) => ChainAccess,
): Promise<{ readonly signers: readonly RoleSigner[]; readonly ownKeys: readonly Address[] }> {
  const signers = createSigners(keys, chainOf)
  await recordKeys(
    database,
    signers.map(({ role, sender }) => ({ role, chainId: sender.chainId, signer: sender.address })),
  )
  return { signers, ownKeys: (await knownKeys(database)).map(({ signer }) => signer) }
}

/**
 * How many transactions of our keys the chains have counted. Bytes are journaled before they are sent, so a key that has sent more than the journal knows
 * tells of a store that was restored, or of another holder of the key.
 */
export async function countSends(
  signers: readonly RoleSigner[],
  readKeys: () => Promise<readonly KnownKey[]>,
): Promise<readonly KeyCount[]> {
  const keys = new Map(signers.map(({ sender }) => [`${sender.chainId}/${sender.address}`, sender]))
  const counts = await Promise.all(
    [...keys.values()].map(async (sender) => ({
      chainId: sender.chainId,
      signer: sender.address,
      counted: await sender.counted(),
    })),
  )
  // Another replica may be at work with the key. What it has sent by now was written down before, so this look at the store shows it.
  const known = new Map((await readKeys()).map((key) => [`${key.chainId}/${key.signer}`, key.known]))
  return counts.map((count) => {
    const accounted = known.get(`${count.chainId}/${count.signer}`) ?? null
    return { ...count, isBeyond: accounted !== null && count.counted > accounted }
  })
}
