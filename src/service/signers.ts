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
 * Has a key sent more than we know of? Bytes are journaled before they are sent, so the journal has lost something: it is an older
 * copy of itself. (Or somebody else has the key, which is worse.) Keys that were replaced are asked for too: what was lost may be theirs. One
 * that nobody has looked at before may have a past of its own.
 */
export async function countSends(
  signers: readonly RoleSigner[],
  readKeys: () => Promise<readonly KnownKey[]>,
): Promise<readonly KeyCount[]> {
  const keys = await readKeys()
  const counts = await Promise.all(keys.map((key) => countOf(signers, key, keys)))
  const found = counts.filter((count) => count !== null)
  if (!found.some(({ isBeyond }) => isBeyond)) return found
  // Another replica may be at work with the key. Whatever the chain has counted was written down before, so a later look at the store shows it.
  const later = new Map((await readKeys()).map(({ chainId, signer, known }) => [`${chainId}/${signer}`, known]))
  return found.map((count) => {
    const known = later.get(`${count.chainId}/${count.signer}`) ?? null
    return { ...count, isBeyond: count.isBeyond && (known === null || count.counted > known) }
  })
}

/** Null: we do not work on that chain any more. */
async function countOf(
  signers: readonly RoleSigner[],
  key: KnownKey,
  keys: readonly KnownKey[],
): Promise<KeyCount | null> {
  const { chainId, signer, known } = key
  const any = signers.find(({ sender }) => sender.chainId === chainId)
  if (!any) return null
  const counted = await any.sender.counted(signer, known)
  return { chainId, signer, counted, isBeyond: known !== null && counted > known && isProof(signers, key, keys) }
}

/**
 * A key that was replaced tells of a store that does not know of that yet. Once its successor was at work here, what it sends is somebody's
 * who emptied it, or who has stolen it.
 */
function isProof(signers: readonly RoleSigner[], key: KnownKey, keys: readonly KnownKey[]): boolean {
  const here = signers.filter(({ sender }) => sender.chainId === key.chainId)
  if (here.some(({ sender }) => sender.address === key.signer)) return true
  const successors = here.filter(({ role }) => key.roles.includes(role)).map(({ sender }) => sender.address)
  const isSucceeded = keys.some(
    ({ chainId, signer, isCounted }) => isCounted && chainId === key.chainId && successors.includes(signer),
  )
  return key.isCounted && !isSucceeded
}
